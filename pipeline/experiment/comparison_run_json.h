#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/experiment/comparison_report.h"
#include "pipeline/report_reader.h"

namespace millrace {

/// One run as the report of a comparison and its journal hold it. What is not known is null.
nlohmann::ordered_json run_json(const ComparisonRun& run);

/// The same back. Error as all of ReportReader; also for a block beyond kMaxRepeats, for a rate that is not positive,
/// and for a sum that is none.
ComparisonRun read_run(const ReportReader& in);

/// The object `mechanism` of a run and of an arm.
nlohmann::ordered_json mechanism_json(const RunMechanism& mechanism);

}  // namespace millrace
