#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/experiment/comparison.h"

namespace millrace {

/// One experiment on one machine.
struct HostRates {
  std::string host;
  RatesByBlock rates;  ///< the same arms in the same order on all hosts; the number of blocks may differ
};

/// An arm against the baseline on one host.
struct HostEffect {
  std::string host;
  std::uint32_t blocks = 0;
  double ratio = 1;           ///< 1 when there is no block
  std::optional<double> low;  ///< Student-t interval, as of an experiment with a fixed number of blocks
  std::optional<double> high;
};

/// An arm against the baseline over all hosts, taken as a sample of the hosts that there could be (random effects).
struct MergedArm {
  std::vector<HostEffect> hosts;  ///< in the order in which they first came
  std::uint32_t hosts_used = 0;   ///< those with 2 blocks or more; the others have no noise to be weighed by
  double ratio = 1;               ///< weighted geometric mean over the hosts used; 1 when there is none
  /// What the mean over many more such hosts would be. Wider than any one host's where they disagree. Nothing below 2
  /// hosts: one host says nothing about others.
  std::optional<double> low;
  std::optional<double> high;
  std::optional<double> between_hosts_log_sd;  ///< tau: true effects of hosts differ by this; nothing below 2 hosts
  std::optional<double> i_squared;  ///< share of the scatter of the hosts' effects that is not noise of their blocks
  /// p value of "the effect is the same on all hosts" (Cochran's Q, chi-squared). Approximate with few blocks.
  std::optional<double> p_same_effect;
};

/// One part of the variance of log rate.
struct VariancePart {
  double sum_of_squares = 0;
  std::uint32_t degrees_of_freedom = 0;
  double share = 0;  ///< of the total sum of squares, 0 to 1; 0 when that is 0
};

/// Where the differences between rates come from. The parts' sums of squares add up to the total's.
struct VarianceSplit {
  VariancePart machine;
  VariancePart setting;
  VariancePart machine_by_setting;  ///< settings that do not do the same on every machine
  VariancePart block;               ///< repeats on one machine, all settings alike
  VariancePart rest;                ///< single runs
  VariancePart total;
  std::uint32_t blocks = 0;           ///< of all hosts that the split is made from: those in which every arm has a rate
  std::uint32_t blocks_left_out = 0;  ///< in which a run was left out
};

struct MergedComparison {
  std::vector<MergedArm> arms;  ///< as the rates; arm 0 is the baseline: ratio 1, no interval
  /// Of all arms but A/A (arm 1), which would count the baseline twice. Nothing when a host has no complete block.
  std::optional<VarianceSplit> variance;
  std::string variance_refused;  ///< why there is no split; empty when there is one
};

/// Puts experiments of several machines together. Pure. Several entries of one host count as one host with all their
/// blocks. `confidence` is that of the intervals. Throws Error when there is nothing to merge, when entries have not
/// the same number of arms, and for what is no rate.
///
/// The effect over all hosts: weights 1 / (own variance + tau^2), tau^2 by DerSimonian and Laird (1986), the interval
/// by Hartung and Knapp (2001) with Student's t on hosts - 1 degrees of freedom, never narrower than what the blocks'
/// noise alone would give. The split of the variance: sums of squares of log rates, two-way with blocks nested in
/// machines; every host has all settings in each of its blocks, so the parts are orthogonal also when hosts have
/// different numbers of blocks.
MergedComparison merge_hosts(const std::vector<HostRates>& experiments, double confidence = 0.95);

}  // namespace millrace
