#pragma once

#include <cstdint>

#include "pipeline/core/attributes.h"

namespace millrace {

/// Bytes that the entries of an attribute set occupy beside the set itself, for Stage::state_bytes of readers that keep
/// one for every read.
std::uint64_t memory_of(const Attributes& attributes);

}  // namespace millrace
