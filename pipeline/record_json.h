#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pipeline/stage_record.h"

namespace millrace {

class ReportReader;

/// One object: parallel, ordered, splits, inputs[{when_full, max_chunk_bytes}], turns_made, hand_over_ns, wake_ns, and
/// turns{kind calls chunks_out bytes_out at_ns cpu_ns io_ns other_ns}, a column of integers each: an array, or one
/// number when all its values are equal (cpu_ns is always an array: its length is the number of turns). `kind` counts
/// 0 call, 1 more, 2 finish.
nlohmann::ordered_json json_of(const StageRecord& record);

/// What json_of() wrote. Error (kind config) for anything else, times and counts without sense included.
StageRecord read_record(const ReportReader& in);

}  // namespace millrace
