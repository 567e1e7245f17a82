#pragma once

#include <string>

#include "pipeline/experiment/comparison_report.h"

namespace millrace::html {

/// Ratio to the baseline with its interval, a row for each arm, on a logarithmic axis; the bands are the noise floor
/// and the design's equivalence margin. SVG; empty when no arm has a ratio. Pure.
std::string forest_plot(const ComparisonReport& report);

/// The rate of every run, a row for each arm, in the order in which all runs were done. SVG; empty without runs. Pure.
std::string run_plot(const ComparisonReport& report);

}  // namespace millrace::html
