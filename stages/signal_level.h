#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

/// Where the samples of a read lie and how far apart, in ADC counts, whatever a few outliers do.
struct SignalLevel {
  double median = 0;
  double mad = 0;  ///< median(|x - median|)
};

/// Finds the level of one read after the other, exactly (an even number of samples has the mean of the middle two), in
/// O(samples + range of values) by a histogram that it keeps. One thread.
class SignalLevelFinder {
 public:
  SignalLevelFinder();

  /// Of at least one sample. Error for more than 2^32 - 1.
  SignalLevel level_of(std::span<const std::int16_t> samples);

  std::uint64_t memory_bytes() const { return histogram_.capacity() * sizeof(std::uint32_t); }

 private:
  std::vector<std::uint32_t> histogram_;  // count of each of the 65536 values; zero between calls is not promised
};

}  // namespace millrace
