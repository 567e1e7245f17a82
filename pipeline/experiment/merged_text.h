#pragma once

#include <string>
#include <vector>

#include "pipeline/experiment/comparison_report.h"
#include "pipeline/experiment/merge_hosts.h"

namespace millrace {

/// Why reports cannot be put together: the first way in which one differs from the first of them in what makes the
/// experiment (config, arms, cache, unit), or that one has no result; empty when they can. Overrides of all arms may
/// differ, because paths do from machine to machine.
std::string why_not_mergeable(const std::vector<ComparisonReport>& reports);

/// The rates of each report with its host, for merge_hosts().
std::vector<HostRates> host_rates_of(const std::vector<ComparisonReport>& reports);

/// For people, at most 100 columns but for long names: the effect of each arm on each machine and over all, then how
/// much of the variance is the machine and how much the setting. Ends in a newline.
std::string merged_text(const std::vector<ComparisonReport>& reports, const MergedComparison& merged);

}  // namespace millrace
