#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace millrace {

/// Follows one statistic from left to right and finds its peaks, one at a time: the detector that EventDetector has two
/// of. The caller hands it the statistic piece by piece.
class PeakSearch {
 public:
  PeakSearch(float threshold, float height, std::size_t window)
      : threshold_(threshold), height_(height), half_window_(window / 2) {}

  /// Forgets everything: the next value is the lowest so far.
  void reset() { start_from(std::numeric_limits<float>::max()); }

  /// True while there is a peak above the threshold that is not a boundary yet.
  bool in_peak() const { return phase_ == Phase::peak; }
  /// Where the statistic was highest in the current peak, or in the one that follow_peak() has just ended.
  std::size_t peak() const { return position_; }

  /// Goes on from position `i` while there is no peak above the threshold, at most to `end`. `statistic[0]` belongs to
  /// position `base`. Returns the first position at which in_peak() holds before the value there is judged, or `end`.
  std::size_t find_peak(std::span<const float> statistic, std::size_t base, std::size_t i, std::size_t end);

  /// Goes on from position `i` until the peak is a boundary (then in_peak() is false and peak() is the boundary), at
  /// most to `end`. Returns the position after the last value judged.
  std::size_t follow_peak(std::span<const float> statistic, std::size_t base, std::size_t i, std::size_t end);

 private:
  enum class Phase {
    low,     // keeps the lowest value
    rising,  // has risen by more than the height, not yet above the threshold
    peak,    // keeps the highest value
  };

  void start_from(float value) {
    phase_ = Phase::low;
    value_ = value;
    sure_ = false;
  }

  float threshold_;
  float height_;
  std::size_t half_window_;
  Phase phase_ = Phase::low;
  float value_ = std::numeric_limits<float>::max();  // lowest or highest, see Phase
  std::size_t position_ = 0;
  bool sure_ = false;  // the peak was followed by a fall of more than the height
};

inline std::size_t PeakSearch::find_peak(std::span<const float> statistic, std::size_t base, std::size_t i,
                                         std::size_t end) {
  if (phase_ == Phase::low) {
    float lowest = value_;
    while (i < end && !(statistic[i - base] - lowest > height_)) {
      lowest = std::min(lowest, statistic[i - base]);
      ++i;
    }
    value_ = lowest;
    if (i == end) return end;
    value_ = statistic[i - base];
    position_ = i++;
    phase_ = value_ > threshold_ ? Phase::peak : Phase::rising;
  }
  if (phase_ == Phase::rising) {
    // Below the threshold it does not matter where the highest value is: the first one above takes its place.
    while (i < end && !(statistic[i - base] > threshold_)) ++i;
    if (i == end) return end;
    value_ = statistic[i - base];
    position_ = i;
    phase_ = Phase::peak;
  }
  return i;
}

inline std::size_t PeakSearch::follow_peak(std::span<const float> statistic, std::size_t base, std::size_t i,
                                           std::size_t end) {
  float highest = value_;
  std::size_t position = position_;
  bool sure = sure_;
  for (; i < end; ++i) {
    const float value = statistic[i - base];
    if (value > highest) {
      highest = value;
      position = i;
    }
    sure = sure || highest - value > height_;
    if (sure && i - position > half_window_) {
      position_ = position;
      start_from(value);
      return i + 1;
    }
  }
  value_ = highest;
  position_ = position;
  sure_ = sure;
  return end;
}

}  // namespace millrace
