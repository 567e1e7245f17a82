#pragma once

#include <optional>
#include <vector>

#include "pipeline/report.h"
#include "pipeline/report_difference.h"

namespace millrace {

/// Rates of up to 20 windows of equal numbers of samples in the steady part of a run (from its first steady phase to
/// the end of its last), units of Delivered per second; empty when it has fewer than 10 sample intervals there.
std::vector<double> steady_rates(const RunReport& report);

/// The interval around `ratio` (see RatioInterval). Nothing when a run has no windows, or a window's mean is 0.
/// Standard error of a ratio of means by the first-order expansion of its logarithm; degrees of freedom as in
/// B. L. Welch, "The generalization of Student's problem when several different population variances are involved",
/// Biometrika 34 (1947).
std::optional<RatioInterval> interval_of_ratio(const RunReport& first, const RunReport& second, double ratio);

}  // namespace millrace
