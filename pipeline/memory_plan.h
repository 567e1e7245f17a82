#pragma once

#include <cstdint>

#include "pipeline/plan.h"

namespace millrace {

/// The most memory that `plan` can hold at one time, from its stages and links. Sums saturate.
/// Per link: its bound, which is the smaller of its bytes and of its chunks times the largest chunk, and one more chunk
/// for every slot of its producer: a producer may fire while the link holds less than its bound. This covers a chunk
/// larger than the bound, which passes alone. Per stage: for every slot the largest chunk that it can hold in its
/// call, its state, and the chunks that it keeps in flight (Stage::buffer_needs).
MemoryPlan make_memory_plan(const Plan& plan, std::uint64_t budget_bytes);

}  // namespace millrace
