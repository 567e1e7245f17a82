#include "stages/synthetic_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "pipeline/core/clock.h"
#include "stages/burn_cpu.h"
#include "stages/counter_random.h"
#include "stages/dtype_option.h"

namespace millrace {
namespace {

SyntheticReader::Fill read_fill(const Options& options) {
  const auto name = options.get<std::string>("fill", "random", "contents: random, ramp, zeros");
  if (name == "random") return SyntheticReader::Fill::random;
  if (name == "ramp") return SyntheticReader::Fill::ramp;
  if (name == "zeros") return SyntheticReader::Fill::zeros;
  throw options.error_at("fill", "'fill' must be random, ramp or zeros, not '" + name + "'");
}

Duration read_period(const Options& options, std::uint64_t chunk_bytes) {
  const auto rate =
      options.get<Bytes>("rate", {}, "bytes per second of an instrument; 0 B = as fast as possible").count;
  const auto interval =
      options.get<Duration>("interval", Duration(0), "time between two chunks of an instrument; 0 ns = none");
  if (rate != 0 && interval.count() != 0) throw options.error_at("interval", "give 'rate' or 'interval', not both");
  if (rate == 0) return interval;
  constexpr double kNsPerSecond = 1e9;
  return Duration(std::max<std::int64_t>(
      1, std::llround(static_cast<double>(chunk_bytes) * kNsPerSecond / static_cast<double>(rate))));
}

/// Random elements of a type: all bit patterns for integers, [-1, 1) for floating point.
template <typename T>
void fill_random(std::span<T> elements, std::uint64_t seed, std::uint64_t chunk) {
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = static_cast<T>(uniform(counter_random(seed, chunk, i)) * 2 - 1);
    }
  } else {
    const std::span<std::byte> bytes = std::as_writable_bytes(elements);
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
      const std::uint64_t word = counter_random(seed, chunk, i / sizeof(word));
      std::memcpy(bytes.data() + i, &word, std::min(sizeof(word), bytes.size() - i));
    }
  }
}

/// 0, 1, 2, ... through all chunks, wrapping around as the type does.
template <typename T>
void fill_ramp(std::span<T> elements, std::uint64_t chunk) {
  const std::uint64_t first = chunk * elements.size();
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(first + i);
}

template <typename T>
void fill(Chunk& chunk, SyntheticReader::Fill kind, std::uint64_t seed, std::uint64_t index) {
  const std::span<T> elements = chunk.samples<T>();
  switch (kind) {
    case SyntheticReader::Fill::random:
      return fill_random(elements, seed, index);
    case SyntheticReader::Fill::ramp:
      return fill_ramp(elements, index);
    case SyntheticReader::Fill::zeros:
      std::fill(elements.begin(), elements.end(), T{});
      return;
  }
}

void fill(Chunk& chunk, SyntheticReader::Fill kind, std::uint64_t seed, std::uint64_t index) {
  switch (chunk.dtype()) {
    case DType::u8:
      return fill<std::uint8_t>(chunk, kind, seed, index);
    case DType::i8:
      return fill<std::int8_t>(chunk, kind, seed, index);
    case DType::u16:
      return fill<std::uint16_t>(chunk, kind, seed, index);
    case DType::i16:
      return fill<std::int16_t>(chunk, kind, seed, index);
    case DType::u32:
      return fill<std::uint32_t>(chunk, kind, seed, index);
    case DType::i32:
      return fill<std::int32_t>(chunk, kind, seed, index);
    case DType::u64:
      return fill<std::uint64_t>(chunk, kind, seed, index);
    case DType::i64:
      return fill<std::int64_t>(chunk, kind, seed, index);
    case DType::f32:
      return fill<float>(chunk, kind, seed, index);
    case DType::f64:
      return fill<double>(chunk, kind, seed, index);
  }
}

}  // namespace

SyntheticReader::SyntheticReader(const Options& options)
    : chunks_(options.get<std::uint64_t>("chunks", 1024, "number of chunks")),
      chunk_bytes_(options.get<Bytes>("chunk_bytes", Bytes{1ULL << 20}, "size of each chunk").count),
      dtype_(dtype_option(options, "type of the elements")),
      content_(options.get<std::string>("content", "bytes", "what the elements mean to the next stage, e.g. signal")),
      fill_(read_fill(options)),
      seed_(options.get<std::uint64_t>("seed", 1, "the same seed gives the same chunks")),
      busy_(options.get<Duration>("busy", Duration(0), "CPU time to burn for each chunk, like decoding in the reader")),
      period_(read_period(options, chunk_bytes_)),
      burst_(options.get<std::uint64_t>("burst", 1, "chunks that come at once when paced")) {
  if (chunk_bytes_ == 0 || chunk_bytes_ % size_of(dtype_) != 0) {
    throw options.error_at("chunk_bytes", "'chunk_bytes' must be a whole number of " + std::string(name_of(dtype_)) +
                                              " (" + std::to_string(size_of(dtype_)) + " bytes each)");
  }
  if (chunks_ > std::numeric_limits<std::uint64_t>::max() / chunk_bytes_) {
    throw options.error_at("chunks", "'chunks' times 'chunk_bytes' is more than 2^64 bytes");
  }
  if (burst_ == 0) throw options.error_at("burst", "'burst' must be at least 1");
  if (burst_ != 1 && period_.count() == 0) throw options.error_at("burst", "'burst' needs 'rate' or 'interval'");
}

ChunkType SyntheticReader::prepare() { return {dtype_, content_, chunk_bytes_}; }

std::optional<Chunk> SyntheticReader::produce(std::uint64_t index) {
  if (index >= chunks_ || !wait_for_turn(index)) return std::nullopt;
  burn_cpu(busy_, call_context().stop);
  Chunk chunk(loan(chunk_bytes_), dtype_);
  fill(chunk, fill_, seed_, index);
  return chunk;
}

std::vector<std::string> SyntheticReader::plan_notes() const {
  std::string note = std::to_string(chunks_) + " chunks of " + format_bytes(chunk_bytes_);
  if (period_.count() != 0) {
    note += ", " + std::to_string(burst_) + " every " +
            format_duration_ns(period_.count() * static_cast<std::int64_t>(burst_));
  }
  return {note};
}

bool SyntheticReader::wait_for_turn(std::uint64_t index) {
  if (period_.count() == 0) return true;
  Clock& clock = monotonic_clock();
  if (!origin_ns_) origin_ns_ = clock.now_ns();
  const auto periods = static_cast<std::int64_t>(index / burst_ * burst_);
  return clock.sleep_until(*origin_ns_ + periods * period_.count(), call_context().stop);
}

}  // namespace millrace
