#pragma once

#include <filesystem>
#include <string>

#include "pipeline/report.h"

namespace millrace::apps {

/// The report as standard output gets it: coloured on a terminal; with `explain`, the rule behind the verdict below.
std::string text_of(const RunReport& report, bool explain);

/// Writes a whole file under its final name, or none. Error (kind config) with the path when it cannot be made.
void write_text_file(const std::filesystem::path& path, const std::string& text);

}  // namespace millrace::apps
