#pragma once

#include <string>

#include "pipeline/report.h"

namespace millrace {

/// The report as one page for a browser, complete in itself: no script, nothing from a network, pictures as SVG inside,
/// readable in dark and light. It has what the text report has, and the series: what every stage did over time, how
/// full the links were, the rate and the memory. All text from outside (names, paths, errors) is escaped. Pure.
std::string to_html(const RunReport& report);

}  // namespace millrace
