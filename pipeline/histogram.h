#pragma once

#include <array>
#include <cstdint>

namespace millrace {

/// Counts of nanosecond values in log-linear buckets (the HDR histogram idea: 32 linear steps per power of two), so
/// quantiles are exact to 3.2 % from 1 ns to 2^62 ns in 15 KiB without allocation. One thread at a time.
class Histogram {
 public:
  /// Negative values count as 0. `times`: how many equal values.
  void record(std::int64_t value_ns, std::uint64_t times = 1);
  void add(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::int64_t max_ns() const { return max_ns_; }
  /// Smallest bucket value with at least `fraction` (0 to 1) of the values at or below it, not above max_ns(); 0 when
  /// empty.
  std::int64_t quantile_ns(double fraction) const;

 private:
  static constexpr unsigned kSubBits = 5;
  static constexpr std::size_t kBuckets = (62 - kSubBits + 1) << kSubBits;

  static std::size_t bucket_of(std::uint64_t value);
  static std::int64_t top_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace millrace
