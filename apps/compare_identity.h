#pragma once

#include <filesystem>
#include <vector>

#include "pipeline/experiment/comparison_report.h"
#include "pipeline/experiment/journal.h"

namespace millrace::apps {

/// What a journal is known by: this program, the texts of the config and the plugins, arms, order, cache, design, the
/// machine, and size and time of every input. `report` needs what it has before the first run.
ExperimentIdentity identity_of(const ComparisonReport& report, const std::vector<std::filesystem::path>& plugins,
                               const std::vector<std::filesystem::path>& inputs);

}  // namespace millrace::apps
