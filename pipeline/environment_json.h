#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/report.h"
#include "pipeline/report_reader.h"

namespace millrace {

/// The object `environment` of every report; what is not known is null.
nlohmann::ordered_json environment_json(const Environment& environment);

/// The same back. Error as all of ReportReader.
Environment read_environment(const ReportReader& in);

}  // namespace millrace
