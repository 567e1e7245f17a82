#pragma once

#include <filesystem>

#include "pipeline/report.h"

namespace millrace::apps {

/// The report that `run --report` wrote to this file. Error (kind config), with the path, when it cannot be read or is
/// none.
RunReport load_report(const std::filesystem::path& path);

}  // namespace millrace::apps
