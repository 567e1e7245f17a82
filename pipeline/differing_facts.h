#pragma once

#include <string>
#include <vector>

#include "pipeline/report.h"
#include "pipeline/report_difference.h"

namespace millrace {

/// What differs of the machine, the file systems, the state of the cache, the load by others (share of the time that
/// threads wanted a core and waited for one; 5 points or more), the transports that ran, workers and memory. Pure.
std::vector<DifferingFact> differing_surroundings(const RunReport& first, const RunReport& second);

/// Keys of two configs (RunReport::config_json) whose values differ, flat: "pipeline.threads", and for a stage its name
/// in front, "read.via.advice". In the order of the first config, then what only the second has. Pure.
std::vector<DifferingFact> differing_config(const std::string& first_json, const std::string& second_json);

}  // namespace millrace
