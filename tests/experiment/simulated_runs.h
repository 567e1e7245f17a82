#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "pipeline/experiment/comparison.h"
#include "pipeline/experiment/sequential.h"

namespace millrace::test {

/// Rates of made-up experiments with known truth: every block has a mood of its own that all its runs share, every run
/// a noise of its own, every arm an effect.
struct SimulatedRuns {
  double log_sd = 0.02;       ///< standard deviation of one block's log ratio of two arms, so of a run log_sd / sqrt(2)
  double block_log_sd = 0.1;  ///< of what whole blocks differ by
  std::vector<double> ratios;  ///< true ratio of each arm that is asked about; the baseline and A/A come before them
  /// Noise of one run with mean 0 and standard deviation 1.
  std::function<double(std::mt19937_64&)> noise = [](std::mt19937_64& random) {
    return std::normal_distribution<double>()(random);
  };

  std::size_t arms() const { return 2 + ratios.size(); }

  void add_block(RatesByBlock& rates, std::mt19937_64& random) const {
    const double mood = block_log_sd * std::normal_distribution<double>()(random);
    rates.resize(arms());
    for (std::size_t arm = 0; arm < arms(); ++arm) {
      const double effect = arm < 2 ? 0 : std::log(ratios[arm - 2]);
      rates[arm].emplace_back(1e9 * std::exp(mood + effect + log_sd / std::sqrt(2.0) * noise(random)));
    }
  }
  RatesByBlock blocks(std::uint32_t count, std::mt19937_64& random) const {
    RatesByBlock rates;
    for (std::uint32_t block = 0; block < count; ++block) add_block(rates, random);
    return rates;
  }
  /// An experiment as it is run: a block at a time until it is decided. Returns what the last look said, which was
  /// after `blocks_planned` blocks.
  Comparison until_decided(const ComparisonDesign& design, std::mt19937_64& random) const {
    RatesByBlock rates;
    Comparison result;
    for (const std::uint32_t look : looks_of(design)) {
      while (rates.empty() || rates[0].size() < look) add_block(rates, random);
      result = decide(rates, design);
      if (result.decided) break;
    }
    return result;
  }
};

/// Student's t with 3 degrees of freedom, scaled to a standard deviation of 1: now and then a run far off.
inline double heavy_tailed(std::mt19937_64& random) {
  return std::student_t_distribution<double>(3)(random) / std::sqrt(3.0);
}

/// Exponential, moved to mean 0: a machine that now and then is much slower than its usual best (or faster, as -x).
inline double lopsided(std::mt19937_64& random) { return 1 - std::exponential_distribution<double>()(random); }

}  // namespace millrace::test
