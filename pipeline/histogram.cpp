#include "pipeline/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace millrace {

std::size_t Histogram::bucket_of(std::uint64_t value) {
  const unsigned width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kSubBits) return value;  // below 32: one bucket per value
  const unsigned shift = width - kSubBits - 1;
  const std::size_t bucket =
      ((static_cast<std::size_t>(shift) + 1) << kSubBits) + ((value >> shift) - (1U << kSubBits));
  return std::min(bucket, kBuckets - 1);
}

std::int64_t Histogram::top_of(std::size_t bucket) {
  if (bucket < (1U << kSubBits)) return static_cast<std::int64_t>(bucket);
  const std::size_t shift = (bucket >> kSubBits) - 1;
  const std::uint64_t step = (bucket & ((1U << kSubBits) - 1)) + (1U << kSubBits);
  return static_cast<std::int64_t>(((step + 1) << shift) - 1);
}

void Histogram::record(std::int64_t value_ns, std::uint64_t times) {
  value_ns = std::max<std::int64_t>(value_ns, 0);
  buckets_[bucket_of(static_cast<std::uint64_t>(value_ns))] += times;
  count_ += times;
  max_ns_ = std::max(max_ns_, value_ns);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

std::int64_t Histogram::quantile_ns(double fraction) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= wanted && seen != 0) return std::min(top_of(i), max_ns_);
  }
  return max_ns_;
}

}  // namespace millrace
