#include "stages/signal_level.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

constexpr std::size_t kValues = 65536;

struct Range {
  std::int16_t lowest;
  std::int16_t highest;
};

Range range_of(std::span<const std::int16_t> samples) {
  Range range{samples.front(), samples.front()};
  for (const std::int16_t sample : samples) {
    range.lowest = std::min(range.lowest, sample);
    range.highest = std::max(range.highest, sample);
  }
  return range;
}

/// Adds the samples to `counts`, whose first element counts `lowest`. Neighbouring samples are alike, and an increment
/// must wait for the one before it on the same counter, so four distant parts of the signal are counted in turn.
void count(std::span<const std::int16_t> samples, std::int32_t lowest, std::uint32_t* counts) {
  const std::size_t quarter = samples.size() / 4;
  const std::int16_t* const data = samples.data();
  for (std::size_t i = 0; i < quarter; ++i) {
    ++counts[data[i] - lowest];
    ++counts[data[i + quarter] - lowest];
    ++counts[data[i + 2 * quarter] - lowest];
    ++counts[data[i + 3 * quarter] - lowest];
  }
  for (std::size_t i = 4 * quarter; i < samples.size(); ++i) ++counts[data[i] - lowest];
}

/// The sum of the two middle values, as indices into `counts`; twice the median.
std::int64_t doubled_median(std::span<const std::uint32_t> counts, std::uint64_t samples) {
  const std::uint64_t lower_rank = (samples - 1) / 2;
  const std::uint64_t upper_rank = samples / 2;
  std::size_t value = 0;
  std::uint64_t seen = counts[0];
  while (seen <= lower_rank) seen += counts[++value];
  const std::size_t lower = value;
  while (seen <= upper_rank) seen += counts[++value];
  return static_cast<std::int64_t>(lower + value);
}

/// The sum of the two middle distances from the median, in half units: four times the MAD. Walks from the median
/// outwards on both sides at once, always on the nearer one.
std::int64_t quadrupled_mad(std::span<const std::uint32_t> counts, std::uint64_t samples, std::int64_t median2) {
  constexpr std::int64_t kBeyond = std::numeric_limits<std::int64_t>::max();
  const auto values = static_cast<std::int64_t>(counts.size());
  const std::uint64_t lower_rank = (samples - 1) / 2;
  const std::uint64_t upper_rank = samples / 2;
  std::int64_t left = median2 / 2;
  std::int64_t right = left + 1;
  std::uint64_t seen = 0;
  std::int64_t lower = -1;
  while (true) {
    const std::int64_t left_distance = left >= 0 ? median2 - 2 * left : kBeyond;
    const std::int64_t right_distance = right < values ? 2 * right - median2 : kBeyond;
    const std::int64_t distance = std::min(left_distance, right_distance);
    if (left_distance == distance) seen += counts[static_cast<std::size_t>(left--)];
    if (right_distance == distance) seen += counts[static_cast<std::size_t>(right++)];
    if (lower < 0 && seen > lower_rank) lower = distance;
    if (seen > upper_rank) return lower + distance;
  }
}

}  // namespace

SignalLevelFinder::SignalLevelFinder() : histogram_(kValues) {}

SignalLevel SignalLevelFinder::level_of(std::span<const std::int16_t> samples) {
  if (samples.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("a read of " + std::to_string(samples.size()) + " samples; at most 2^32 - 1");
  }
  const Range range = range_of(samples);
  const std::span<std::uint32_t> counts(histogram_.data(), static_cast<std::size_t>(range.highest - range.lowest) + 1);
  std::fill(counts.begin(), counts.end(), 0);
  count(samples, range.lowest, counts.data());
  const std::int64_t median2 = doubled_median(counts, samples.size());
  const std::int64_t mad4 = quadrupled_mad(counts, samples.size(), median2);
  return {static_cast<double>(median2) / 2 + range.lowest, static_cast<double>(mad4) / 4};
}

}  // namespace millrace
