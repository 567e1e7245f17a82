#include "pipeline/experiment/paired_effect.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace millrace {
namespace {

// In double, not long double inside: thirteen digits are plenty, and simulations want many of these.
using Fast = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using StudentT = boost::math::students_t_distribution<double, Fast>;

}  // namespace

std::vector<double> log_ratios(std::span<const std::optional<double>> arm,
                               std::span<const std::optional<double>> baseline) {
  std::vector<double> result;
  for (std::size_t block = 0; block < std::min(arm.size(), baseline.size()); ++block)
    if (arm[block] && baseline[block]) result.push_back(std::log(*arm[block] / *baseline[block]));
  return result;
}

PairedEffect paired_effect(std::span<const double> log_ratios) {
  PairedEffect result;
  result.blocks = static_cast<std::uint32_t>(log_ratios.size());
  if (log_ratios.empty()) return result;
  const auto count = static_cast<double>(log_ratios.size());
  result.mean = std::accumulate(log_ratios.begin(), log_ratios.end(), 0.0) / count;
  double squares = 0;
  for (const double value : log_ratios) {
    squares += (value - result.mean) * (value - result.mean);
    result.higher += value > 0 ? 1 : 0;
    result.lower += value < 0 ? 1 : 0;
  }
  if (log_ratios.size() > 1) result.standard_deviation = std::sqrt(squares / (count - 1));
  return result;
}

double student_t_limit(double error_rate, double degrees_of_freedom) {
  return boost::math::quantile(boost::math::complement(StudentT(degrees_of_freedom), error_rate / 2));
}

double half_width(const PairedEffect& effect, double error_rate) {
  return student_t_limit(error_rate, effect.blocks - 1.0) * effect.standard_deviation / std::sqrt(effect.blocks);
}

double t_test_p(const PairedEffect& effect) {
  if (effect.blocks < 2) return 1;
  if (effect.standard_deviation == 0) return effect.mean == 0 ? 1 : 0;
  const double t = std::abs(effect.mean) * std::sqrt(effect.blocks) / effect.standard_deviation;
  return 2 * boost::math::cdf(boost::math::complement(StudentT(effect.blocks - 1.0), t));
}

}  // namespace millrace
