#pragma once

#include <vector>

#include "pipeline/experiment/merge_hosts.h"

namespace millrace {

/// The variance of log rate over hosts, arms and blocks. Hosts are different ones, rates positive, all with the same
/// number of arms, 2 or more. Throws Error with the reason when a host has no block in which every arm (but A/A) has a
/// rate.
VarianceSplit split_variance(const std::vector<HostRates>& hosts);

}  // namespace millrace
