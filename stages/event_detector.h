#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stages/peak_search.h"

namespace millrace {

/// The numbers of event detection.
struct EventSettings {
  std::uint32_t window_short = 3;  ///< samples, 2 to EventDetector::kMaxWindow, below window_long
  std::uint32_t window_long = 6;   ///< samples, up to EventDetector::kMaxWindow
  float threshold_short = 1.4F;    ///< of the statistic, not negative
  float threshold_long = 9.0F;     ///< of the statistic, not negative
  float peak_height = 0.2F;        ///< of the statistic, not negative
};

/// Cuts a signal into events, stretches of one level, where two neighbouring windows differ by Student's t. The
/// algorithm of scrappie (event_detection.c, MPL-2.0, described in words only; also used by nanopolish, f5c, UNCALLED).
///
/// For a window of w samples at position i: m1, v1 are mean and population variance of x[i-w, i), m2, v2 those of
/// x[i, i+w), and
///
///     t(i) = |m2 - m1| / sqrt(max(v1 + v2, FLT_MIN) / w);   0 where a window would leave the signal.
///
/// Each of two detectors, short and long, follows its t from left to right: it keeps the lowest value until t is more
/// than peak_height above it, from then on the highest value and its place, the peak. A peak above the threshold is
/// sure once t has fallen by more than peak_height from it, and becomes a boundary at the first position more than w/2
/// behind it; the detector then starts again from there. While the short detector has a peak above its threshold, the
/// long one is reset, and stays out up to the peak + window_short.
///
/// Sums are in double and local (no running sum over the read), so that position does not cost precision: from i16
/// samples the sums, and so |m2-m1| and v1+v2, are exact; t itself is a float.
///
/// Memory is taken in the constructor only. One thread at a time.
class EventDetector {
 public:
  static constexpr std::uint32_t kMaxWindow = 1024;
  /// Longer events are cut at this length, the longest that a float counts exactly.
  static constexpr std::uint64_t kMaxEventSamples = std::uint64_t{1} << 24;
  /// Length in samples, mean, standard deviation (population).
  static constexpr std::size_t kFieldsPerEvent = 3;

  /// The settings must be within the limits that EventSettings names.
  explicit EventDetector(const EventSettings& settings);

  /// No signal of `samples` samples has more events than this.
  std::uint64_t max_events(std::uint64_t samples) const;

  /// Writes the events of one read to `events` (room for max_events()) and returns how many. They tile the signal: none
  /// is empty, and their lengths add up to its size. An empty signal has none, one without a boundary has one.
  std::uint64_t detect(std::span<const std::int16_t> signal, std::span<float> events);
  /// The same; Error when a sample is infinite or not a number.
  std::uint64_t detect(std::span<const float> signal, std::span<float> events);

  std::uint64_t state_bytes() const;

 private:
  template <typename Sample>
  std::uint64_t detect_in(std::span<const Sample> signal, std::span<float> events);
  template <typename Sample>
  void sum_up(std::span<const Sample> signal, std::size_t first, std::size_t last);
  template <typename Sample>
  void compute_statistic(std::size_t window, std::size_t first, std::size_t begin, std::size_t end, std::size_t samples,
                         std::vector<float>& statistic) const;
  template <typename Sample>
  float* write_events(std::span<const Sample> signal, std::size_t first, std::size_t& start, float* next) const;
  void search_block(std::size_t begin, std::size_t end);
  void search_long(std::size_t begin, std::size_t end);

  EventSettings settings_;
  PeakSearch short_;
  PeakSearch long_;
  std::size_t short_next_ = 0;  // position that the short detector sees next
  std::size_t long_next_ = 0;
  std::vector<double> sums_;  // of the samples of a block, from its first one on; one more than samples
  std::vector<double> squares_;
  std::vector<float> short_statistic_;  // of the positions of a block
  std::vector<float> long_statistic_;
  std::vector<std::size_t> boundaries_;  // found in a block, ascending
};

}  // namespace millrace
