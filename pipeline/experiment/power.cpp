#include "pipeline/experiment/power.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>

#include "pipeline/experiment/paired_effect.h"

namespace millrace {
namespace {

/// Effects above this are found as surely as can be computed; it stands for "without noise".
constexpr double kHugeEffect = 1e7;

double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

/// The chance that a sample's standard deviation is at most `ratio` of the true one.
double deviation_cdf(double ratio, double degrees_of_freedom) {
  if (ratio <= 0) return 0;
  // The cube root of a chi-squared number is nearly normal (Wilson and Hilferty, 1931). That is good enough to know a
  // chance that is 0 or 1 to ten digits, where Boost 1.74 may overflow.
  const double variance = 2 / (9 * degrees_of_freedom);
  const double normal = (std::cbrt(ratio * ratio) - (1 - variance)) / std::sqrt(variance);
  if (std::abs(normal) > 8) return normal > 0 ? 1 : 0;
  return boost::math::cdf(boost::math::chi_squared(degrees_of_freedom), degrees_of_freedom * ratio * ratio);
}

/// The mean of f(x) over x normal around `centre` with standard deviation 1. By the trapezoidal rule, which for f as
/// smooth as those here is exact to five digits or more.
template <typename Function>
double mean_over_normal(double centre, const Function& f) {
  constexpr double kReach = 8;
  constexpr int kSteps = 160;
  constexpr double kStep = 2 * kReach / kSteps;
  double sum = 0;
  double weights = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = -kReach + i * kStep;
    const double weight = std::exp(-z * z / 2);
    sum += weight * f(centre + z);
    weights += weight;
  }
  return sum / weights;
}

double in_standard_errors(double effect_in_sd, std::uint32_t blocks) {
  return std::clamp(effect_in_sd * std::sqrt(blocks), -kHugeEffect, kHugeEffect);
}

/// The chance that the A/A arm's own effect is nearer to 0 than `x`, the arm's observed effect, when the arm's true
/// effect is `effect`; all in standard errors. Given x, the A/A effect is normal around (x - effect) / 2 with variance
/// 3/4, because the two share the baseline's runs.
double aa_effect_is_within(double x, double effect) {
  const double spread = std::sqrt(0.75);
  const double centre = (x - effect) / 2;
  return normal_cdf((x - centre) / spread) - normal_cdf((-x - centre) / spread);
}

}  // namespace

double t_test_power(std::uint32_t blocks, double effect_in_sd, double error_rate) {
  const double effect = std::abs(in_standard_errors(effect_in_sd, blocks));
  const double limit = student_t_limit(error_rate, blocks - 1.0);
  if (effect == 0) return error_rate / 2;
  return boost::math::cdf(boost::math::complement(boost::math::non_central_t(blocks - 1.0, effect), limit));
}

double claim_power(std::uint32_t blocks, double effect_in_sd, const VerdictStrictness& strictness) {
  const double freedom = blocks - 1.0;
  const double effect = std::abs(in_standard_errors(effect_in_sd, blocks));
  const double claim_limit = student_t_limit(strictness.claim, freedom);
  const double floor_limit = student_t_limit(strictness.interval, freedom);
  // Means are independent of standard deviations, and the two deviations are taken as independent of each other. They
  // are a little alike in truth (their squares correlate by 1/4), which makes both small together more likely.
  return mean_over_normal(effect, [&](double x) {
    if (x <= 0) return 0.0;
    return deviation_cdf(x / claim_limit, freedom) * deviation_cdf(x / floor_limit, freedom) *
           aa_effect_is_within(x, effect);
  });
}

double equivalence_power(std::uint32_t blocks, double effect_in_sd, double low, double high, double error_rate) {
  const double limit = student_t_limit(error_rate, blocks - 1.0);
  const double from = in_standard_errors(low, blocks);
  const double to = in_standard_errors(high, blocks);
  return mean_over_normal(in_standard_errors(effect_in_sd, blocks),
                          [&](double x) { return deviation_cdf(std::min(x - from, to - x) / limit, blocks - 1.0); });
}

double detectable_effect_in_sd(std::uint32_t blocks, const VerdictStrictness& strictness, double power) {
  double high = 1;
  while (high < kHugeEffect && claim_power(blocks, high, strictness) < power) high *= 2;
  double low = high / 2 > 0.5 ? high / 2 : 0;
  constexpr double kPrecision = 1e-4;
  while (high - low > kPrecision * high) {
    const double middle = (low + high) / 2;
    (claim_power(blocks, middle, strictness) < power ? low : high) = middle;
  }
  return high;
}

std::optional<std::uint32_t> blocks_for_power(const std::function<double(std::uint32_t)>& power_of, double power) {
  std::uint32_t enough = 2;
  std::uint32_t too_few = 1;
  while (power_of(enough) < power) {
    if (enough == kMostBlocksPlanned) return std::nullopt;
    too_few = enough;
    enough = std::min(2 * enough, kMostBlocksPlanned);
  }
  while (enough - too_few > 1) {
    const std::uint32_t middle = (too_few + enough) / 2;
    (power_of(middle) < power ? too_few : enough) = middle;
  }
  return enough;
}

}  // namespace millrace
