#include "tests/stages/reference_events.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>
#include <span>

namespace millrace::test {
namespace {

struct Moments {
  long double mean = 0;
  long double variance = 0;
};

Moments moments_of(std::span<const double> samples) {
  Moments result;
  for (const double sample : samples) result.mean += sample;
  result.mean /= static_cast<long double>(samples.size());
  for (const double sample : samples) result.variance += (sample - result.mean) * (sample - result.mean);
  result.variance /= static_cast<long double>(samples.size());
  return result;
}

std::vector<float> t_statistic(const std::vector<double>& signal, std::size_t window) {
  std::vector<float> result(signal.size());
  const std::span all(signal);
  for (std::size_t i = window; i + window <= signal.size(); ++i) {
    const Moments left = moments_of(all.subspan(i - window, window));
    const Moments right = moments_of(all.subspan(i, window));
    const long double variance = std::max<long double>(left.variance + right.variance, FLT_MIN);
    result[i] =
        static_cast<float>(std::abs(right.mean - left.mean) / std::sqrt(variance / static_cast<long double>(window)));
  }
  return result;
}

struct Detector {
  std::size_t window;
  float threshold;
  std::vector<float> t;
  float lowest = FLT_MAX;
  std::optional<std::size_t> peak = {};
  bool valid = false;
  std::size_t masked_to = 0;

  void forget() {
    lowest = FLT_MAX;
    peak.reset();
    valid = false;
  }
  bool has_peak_above_threshold() const { return peak && t[*peak] > threshold; }

  /// One position; the boundary that became certain there.
  std::optional<std::size_t> see(std::size_t i, float height) {
    if (!peak) {
      if (t[i] - lowest > height) peak = i;
      lowest = std::min(lowest, t[i]);
      return {};
    }
    if (t[i] > t[*peak]) peak = i;
    if (has_peak_above_threshold() && t[*peak] - t[i] > height) valid = true;
    if (!valid || i - *peak <= window / 2) return {};
    const std::size_t boundary = *peak;
    forget();
    lowest = t[i];
    return boundary;
  }
};

}  // namespace

std::vector<ReferenceEvent> reference_events(const std::vector<double>& signal, const EventSettings& settings) {
  Detector with_short{settings.window_short, settings.threshold_short, t_statistic(signal, settings.window_short)};
  Detector with_long{settings.window_long, settings.threshold_long, t_statistic(signal, settings.window_long)};
  std::vector<std::size_t> boundaries{0};
  for (std::size_t i = 1; i < signal.size(); ++i) {
    const bool had_peak = with_short.peak.has_value();
    const auto from_short = with_short.see(i, settings.peak_height);
    // The peak in which the position lies, as it was when the position was judged; one that has just begun masks from
    // the next position on.
    const std::size_t peak = from_short ? *from_short : with_short.peak.value_or(0);
    if (had_peak && with_short.t[peak] > settings.threshold_short) {
      with_long.forget();
      with_long.masked_to = peak + settings.window_short;
    }
    if (from_short) boundaries.push_back(*from_short);
    if (i <= with_long.masked_to) continue;
    if (const auto from_long = with_long.see(i, settings.peak_height)) boundaries.push_back(*from_long);
  }
  boundaries.push_back(signal.size());

  std::vector<ReferenceEvent> events;
  for (std::size_t k = 0; k + 1 < boundaries.size() && !signal.empty(); ++k) {
    const std::size_t length = boundaries[k + 1] - boundaries[k];
    const Moments moments = moments_of(std::span(signal).subspan(boundaries[k], length));
    events.push_back(
        {boundaries[k], length, static_cast<double>(moments.mean), static_cast<double>(std::sqrt(moments.variance))});
  }
  return events;
}

}  // namespace millrace::test
