#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace millrace {

/// How strict a verdict is: error rates, two-sided.
struct VerdictStrictness {
  double claim = 0.05;     ///< of one claim, corrected for looks and for the number of arms
  double interval = 0.05;  ///< of an interval, corrected for looks only; the A/A arm's gives the noise floor
};

/// Blocks that nobody would wait for; the planners stop looking here.
constexpr std::uint32_t kMostBlocksPlanned = 10'000;

/// The chance that a paired two-sided t test of `blocks` blocks finds a true effect of `effect_in_sd` standard
/// deviations of one block's log ratio, in its direction: the upper tail of the noncentral t distribution. Needs 2
/// blocks.
double t_test_power(std::uint32_t blocks, double effect_in_sd, double error_rate);

/// The chance that the verdict is "faster" (or "slower") when it is true: the t test finds it AND it exceeds the noise
/// floor, that is the half-width of the A/A arm's interval and the A/A arm's own effect. Noise is normal and the same
/// in every run; the A/A arm shares the baseline's runs with the arm, so their effects correlate by 1/2. Never above
/// the truth; in simulation at most 0.03 below it, and 0.01 where it is 0.9 or more.
double claim_power(std::uint32_t blocks, double effect_in_sd, const VerdictStrictness& strictness);

/// The chance that an interval of the given error rate lies within [low, high], both in standard deviations of one
/// block's log ratio, as is the true effect.
double equivalence_power(std::uint32_t blocks, double effect_in_sd, double low, double high, double error_rate);

/// The smallest effect, in standard deviations of one block's log ratio, whose claim_power is `power`. Needs 2 blocks.
double detectable_effect_in_sd(std::uint32_t blocks, const VerdictStrictness& strictness, double power);

/// The smallest number of blocks, 2 or more, for which `power_of(blocks)`, which must not fall as blocks grow, is at
/// least `power`. Nothing when that is above kMostBlocksPlanned.
std::optional<std::uint32_t> blocks_for_power(const std::function<double(std::uint32_t)>& power_of, double power);

}  // namespace millrace
