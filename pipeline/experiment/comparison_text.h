#pragma once

#include <string>

#include "pipeline/experiment/comparison_report.h"

namespace millrace {

/// A comparison for people: at most 100 columns (a label or a path may be longer), every figure with its unit. Two
/// lines or more for each arm: the effect, then the rate of every repeat in the order of the repeats, those that were
/// left out in brackets; below the table what the design could have found, and what was left out. Ends in a newline.
std::string to_text(const ComparisonReport& report);

}  // namespace millrace
