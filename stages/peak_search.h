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
  bool in_peak() const { return in_peak_; }
  /// Where the statistic was highest in the current peak, or in the one that follow_peak() has just ended.
  std::size_t peak() const { return position_; }

  /// Goes on from position `i` while there is no peak above the threshold, at most to `end`. `statistic[0]` belongs to
  /// position `base`. Returns the first position at which in_peak() holds when the value there is judged, or `end`.
  std::size_t find_peak(std::span<const float> statistic, std::size_t base, std::size_t i, std::size_t end);

  /// Goes on from position `i` until the peak is a boundary (then in_peak() is false and peak() is the boundary), at
  /// most to `end`. Returns the position after the last value judged.
  std::size_t follow_peak(std::span<const float> statistic, std::size_t base, std::size_t i, std::size_t end);

 private:
  void start_from(float value) {
    value_ = value;
    risen_ = false;
    in_peak_ = false;
    sure_ = false;
  }

  float threshold_;
  float height_;
  std::size_t half_window_;
  float value_ = std::numeric_limits<float>::max();  // the lowest so far; the highest in a peak
  std::size_t position_ = 0;                         // of the highest
  bool risen_ = false;                               // by more than the height above the lowest
  bool in_peak_ = false;                             // risen, and above the threshold
  bool sure_ = false;                                // in a peak, and fallen by more than the height from its top
};

// Where a peak begins and ends is what no branch predictor can know, so each loop decides once per value, by
// arithmetic.

inline std::size_t PeakSearch::find_peak(std::span<const float> statistic, std::size_t base, std::size_t i,
                                         std::size_t end) {
  float lowest = value_;
  bool risen_before = risen_;
  for (; i < end; ++i) {
    const float value = statistic[i - base];
    const bool risen = risen_before || value - lowest > height_;
    if (risen && value > threshold_) {
      value_ = value;
      position_ = i;
      in_peak_ = true;
      // A value that is the first to rise is judged as the end of the low, a later one as part of the rise.
      return risen_before ? i : i + 1;
    }
    lowest = std::min(lowest, value);
    risen_before = risen;
  }
  value_ = lowest;
  risen_ = risen_before;
  return end;
}

inline std::size_t PeakSearch::follow_peak(std::span<const float> statistic, std::size_t base, std::size_t i,
                                           std::size_t end) {
  float highest = value_;
  std::size_t position = position_;
  bool sure = sure_;
  for (; i < end; ++i) {
    const float value = statistic[i - base];
    position = value > highest ? i : position;
    highest = std::max(highest, value);
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
