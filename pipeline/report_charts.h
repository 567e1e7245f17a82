#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace millrace::html {

/// Pictures of a report as SVG, to stand inside a page of html_page.h. Pure; empty where the report has nothing to
/// show.

/// The slot time of a stage as one bar: cpu, io, delay, other, starved, blocked, ready, done.
std::string state_bar(const StageReport& stage);

/// What a stage did over time, in shares of its slot time.
std::string state_chart(const RunReport& report, std::size_t stage);
/// How many chunks waited in a link over time, of its capacity.
std::string link_chart(const RunReport& report, std::size_t link);
/// What the sources delivered per second over time.
std::string rate_chart(const RunReport& report);
/// Memory of the process over time.
std::string memory_chart(const RunReport& report);

/// The colours of the states with their names.
std::string state_legend();

}  // namespace millrace::html
