#pragma once

#include <string>

#include "pipeline/experiment/comparison_report.h"

namespace millrace {

/// A comparison as one page for a browser, complete in itself: no script, nothing from a network, pictures as SVG
/// inside, readable in dark and light. The table of arms; a forest plot (ratio with its interval for each arm, over the
/// noise floor and the equivalence band); the rate of every run in the order in which they were done, runs that were
/// left out crossed; mechanism, design, order of the blocks, surroundings. All text from outside is escaped. Pure.
std::string to_html(const ComparisonReport& report);

}  // namespace millrace
