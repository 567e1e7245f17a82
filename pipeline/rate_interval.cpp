#include "pipeline/rate_interval.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "pipeline/throughput.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxWindows = 20;
constexpr std::size_t kMinWindows = 5;
/// One sample interval alone has half a chunk more or less at each end.
constexpr std::size_t kWindowIntervals = 2;
constexpr double kConfidence = 0.95;

/// Mean of the rates, and the variance of that mean relative to its square.
struct Mean {
  double value = 0;
  double relative_variance = 0;
  double degrees = 0;
};

Mean mean_of(const std::vector<double>& rates) {
  Mean mean;
  const auto n = static_cast<double>(rates.size());
  mean.value = std::accumulate(rates.begin(), rates.end(), 0.0) / n;
  double squares = 0;
  for (const double rate : rates) squares += (rate - mean.value) * (rate - mean.value);
  mean.degrees = n - 1;
  if (mean.value > 0) mean.relative_variance = squares / mean.degrees / n / (mean.value * mean.value);
  return mean;
}

}  // namespace

std::vector<double> steady_rates(const RunReport& report) {
  std::int64_t begin_ns = report.wall_ns;
  std::int64_t end_ns = 0;
  for (const auto& phase : report.phases) {
    if (phase.kind != "steady") continue;
    begin_ns = std::min(begin_ns, phase.start_ns);
    end_ns = std::max(end_ns, phase.end_ns);
  }
  std::vector<Sample> samples = complete_samples(report);
  std::erase_if(samples, [&](const Sample& sample) { return sample.at_ns < begin_ns || sample.at_ns > end_ns; });
  std::vector<double> rates;
  if (samples.size() < 1 + kMinWindows * kWindowIntervals) return rates;
  const std::size_t intervals = samples.size() - 1;
  const std::size_t count = std::clamp(intervals / kWindowIntervals, kMinWindows, kMaxWindows);
  const bool counts_bytes = delivered(report).counts_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    const Sample& from = samples[intervals * i / count];
    const Sample& to = samples[intervals * (i + 1) / count];
    const Delivered before = delivered(report, from);
    const Delivered after = delivered(report, to);
    const double units = counts_bytes ? static_cast<double>(after.bytes) - static_cast<double>(before.bytes)
                                      : static_cast<double>(after.chunks) - static_cast<double>(before.chunks);
    rates.push_back(std::max(0.0, units) * 1e9 / static_cast<double>(to.at_ns - from.at_ns));
  }
  return rates;
}

std::optional<RatioInterval> interval_of_ratio(const RunReport& first, const RunReport& second, double ratio) {
  const std::vector<double> before = steady_rates(first);
  const std::vector<double> after = steady_rates(second);
  if (before.empty() || after.empty()) return {};
  const Mean a = mean_of(before);
  const Mean b = mean_of(after);
  if (a.value <= 0 || b.value <= 0) return {};
  RatioInterval interval{ratio, ratio, before.size(), after.size()};
  const double variance = a.relative_variance + b.relative_variance;
  if (variance <= 0) return interval;
  const double degrees =
      variance * variance /
      (a.relative_variance * a.relative_variance / a.degrees + b.relative_variance * b.relative_variance / b.degrees);
  const boost::math::students_t distribution(degrees);
  const double half = boost::math::quantile(distribution, 0.5 + kConfidence / 2) * std::sqrt(variance);
  interval.low = ratio * std::exp(-half);
  interval.high = ratio * std::exp(half);
  return interval;
}

}  // namespace millrace
