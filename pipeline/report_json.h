#pragma once

#include <string>

#include "pipeline/report.h"

namespace millrace {

/// Schema millrace.run/1, one JSON object with a line per key. Names ending in _s are decimal seconds, exact to the
/// nanosecond (up to 2^51 ns, 26 days), so that sums close for the reader too; what was not measured is null. Bytes
/// that are no UTF-8 (in paths) become U+FFFD. Error (kind run) when report.config_json is no JSON object.
///
/// Additions to the contract: error, threads, stages[]{cpu_sampled_every}, stages[].io{fsync_calls},
/// links[]{mean_wait_s}, verdict{rule}, drift (DriftReport), ledger_cost, and samples: the cumulative figures that
/// `series` is made of, so that a stored report can be judged and printed again. Of a run from a file also config_file,
/// overrides and plugins; of a recorded one stages[]{record} (pipeline/record_json.h).
std::string to_json(const RunReport& report);

/// The report that to_json() wrote; `series` is not read, it follows from `samples`. Keys that are not known are
/// ignored. Error (kind config) for anything else: no JSON, another schema, a missing key, a wrong type, a negative
/// count, a link between stages that do not exist, samples that do not fit the stages.
RunReport report_from_json(const std::string& text);

}  // namespace millrace
