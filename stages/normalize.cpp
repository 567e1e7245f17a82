#include "stages/normalize.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

namespace millrace {
namespace {

constexpr std::size_t kValues = 65536;
constexpr double kMadToDeviation = 1.4826;

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

Normalize::Normalize(const Options& options) {
  const auto flat_read = options.get<std::string>(
      "flat_read", "center", "a read whose MAD is 0: \"center\" (subtract the median only) or \"error\"");
  if (flat_read != "center" && flat_read != "error") {
    throw options.error_at("flat_read", "'flat_read' is \"center\" or \"error\", not \"" + flat_read + "\"");
  }
  flat_read_is_error_ = flat_read == "error";
}

ChunkType Normalize::prepare(const ChunkType& input) {
  input.require("signal").require(DType::i16);
  histogram_.resize(kValues);
  return {DType::f32, "signal", input.max_bytes / sizeof(std::int16_t) * sizeof(float)};
}

std::optional<Chunk> Normalize::process(Chunk chunk) {
  const auto samples = chunk.view<std::int16_t>();
  Buffer result = loan(samples.size() * sizeof(float));
  if (!samples.empty()) {
    const Location location = locate(samples);
    if (location.mad == 0 && flat_read_is_error_) {
      throw Error("the MAD of a read of " + std::to_string(samples.size()) + " samples is 0");
    }
    const auto shift = static_cast<float>(location.median);
    const auto factor = static_cast<float>(location.mad == 0 ? 1.0 : 1.0 / (kMadToDeviation * location.mad));
    auto* const out = reinterpret_cast<float*>(result.writable().data());
    for (std::size_t i = 0; i < samples.size(); ++i) out[i] = (static_cast<float>(samples[i]) - shift) * factor;
  }
  return chunk.with(std::move(result), DType::f32, chunk.shape());
}

std::uint64_t Normalize::state_bytes() const { return histogram_.capacity() * sizeof(std::uint32_t); }

Normalize::Location Normalize::locate(std::span<const std::int16_t> samples) {
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
