#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace millrace {

/// Natural logarithm of arm / baseline, for the blocks in which both have a rate, in the order of the blocks. What a
/// whole block had in common (the hour, the neighbours, the fill of the disk) is not in it. Rates are positive.
std::vector<double> log_ratios(std::span<const std::optional<double>> arm,
                               std::span<const std::optional<double>> baseline);

/// Mean and scatter of within-block log ratios.
struct PairedEffect {
  std::uint32_t blocks = 0;
  double mean = 0;                ///< exp(mean) is the geometric mean of the ratios
  double standard_deviation = 0;  ///< of one block's log ratio, blocks - 1 in the denominator; 0 below 2 blocks
  std::uint32_t higher = 0;       ///< blocks in which the arm had the higher rate
  std::uint32_t lower = 0;
};

PairedEffect paired_effect(std::span<const double> log_ratios);

/// Half the length of the Student-t interval of `mean` that misses with probability `error_rate`, 0 < error_rate < 1:
/// t(1 - error_rate / 2, blocks - 1) * standard_deviation / sqrt(blocks). Needs 2 blocks.
double half_width(const PairedEffect& effect, double error_rate);

/// Two-sided p value of Student's t test of "mean is 0": at most `error_rate` exactly when the interval above excludes
/// 0. 1 below 2 blocks. Without any scatter 0, or 1 when the mean is 0 too.
double t_test_p(const PairedEffect& effect);

/// t(1 - error_rate / 2, degrees_of_freedom): what the mean may be off by, in standard errors.
double student_t_limit(double error_rate, double degrees_of_freedom);

}  // namespace millrace
