#include "io/stream_vbyte16.h"

#include <bit>
#include <cstring>

#include "io/zigzag_deltas.h"

namespace millrace::io {
namespace {

std::uint16_t load_u16(const std::byte* bytes) {
  std::uint16_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::uint16_t unzigzag(std::uint32_t value) { return static_cast<std::uint16_t>((value >> 1) ^ (0U - (value & 1U))); }

std::uint16_t zigzag(std::uint16_t difference) {
  const bool negative = (difference & 0x8000U) != 0;
  return static_cast<std::uint16_t>((static_cast<std::uint32_t>(difference) << 1) ^ (negative ? 0xffffU : 0U));
}

/// One value after the other: the portable way, and the tail of the fast one.
struct ScalarDecoder {
  const std::byte* keys = nullptr;
  const std::byte* data = nullptr;
  std::uint16_t previous = 0;

  std::int16_t next(std::uint64_t index) {
    const auto key = (std::to_integer<unsigned>(keys[index / 8]) >> (index % 8)) & 1U;
    const std::uint32_t value = load_u16(data) & (key == 0 ? 0xffU : 0xffffU);
    data += key + 1;
    previous = static_cast<std::uint16_t>(previous + unzigzag(value));
    return static_cast<std::int16_t>(previous);
  }
};

#if defined(__x86_64__)

/// Each of the next two decodes as many whole steps as there are, returns how many samples that was, and moves
/// `decoder` on.
__attribute__((target("ssse3"))) std::uint64_t decode_octets(ScalarDecoder& decoder, std::span<std::int16_t> samples) {
  __m128i previous = _mm_set1_epi16(static_cast<std::int16_t>(decoder.previous));
  const std::byte* const keys = decoder.keys;
  const std::byte* data = decoder.data;
  const std::uint64_t octets = samples.size() / 8;
  for (std::uint64_t octet = 0; octet < octets; ++octet) {
    zigzag_deltas::decode_octet(std::to_integer<unsigned>(keys[octet]), data, previous, samples.data() + 8 * octet);
  }
  decoder.data = data;
  decoder.previous = static_cast<std::uint16_t>(_mm_extract_epi16(previous, 0));
  return 8 * octets;
}

__attribute__((target("avx2"))) std::uint64_t decode_sixteens(ScalarDecoder& decoder, std::span<std::int16_t> samples) {
  __m256i previous = _mm256_set1_epi16(static_cast<std::int16_t>(decoder.previous));
  const std::byte* const keys = decoder.keys;
  const std::byte* data = decoder.data;
  const std::uint64_t sixteens = samples.size() / 16;
  for (std::uint64_t i = 0; i < sixteens; ++i) {
    zigzag_deltas::decode_sixteen(load_u16(keys + 2 * i), data, previous, samples.data() + 16 * i);
  }
  decoder.data = data;
  decoder.previous = static_cast<std::uint16_t>(_mm256_extract_epi16(previous, 0));
  return 16 * sixteens;
}

std::uint64_t decode_steps(ScalarDecoder& decoder, std::span<std::int16_t> samples, VectorCode code) {
  if (code == VectorCode::avx2) return decode_sixteens(decoder, samples);
  return code == VectorCode::ssse3 ? decode_octets(decoder, samples) : 0;
}

#else

std::uint64_t decode_steps(ScalarDecoder&, std::span<std::int16_t>, VectorCode) { return 0; }

#endif

std::uint64_t key_bytes_of(std::uint64_t count) { return count / 8 + (count % 8 != 0 ? 1 : 0); }

}  // namespace

std::optional<std::uint64_t> stream_vbyte16_bytes(std::span<const std::byte> stream, std::uint64_t count) {
  const std::uint64_t key_bytes = key_bytes_of(count);
  if (stream.size() < key_bytes) return std::nullopt;
  std::uint64_t bytes = key_bytes + count;
  const std::uint64_t whole = count / 8;  // key bytes of which every bit counts
  std::uint64_t at = 0;
  for (; at + 8 <= whole; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, stream.data() + at, sizeof word);
    bytes += static_cast<std::uint64_t>(std::popcount(word));
  }
  for (; at < whole; ++at) bytes += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(stream[at])));
  if (at < key_bytes) {
    const unsigned used = (1U << (count % 8)) - 1;
    bytes += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(stream[at]) & used));
  }
  return bytes;
}

void decode_stream_vbyte16(const std::byte* stream, std::span<std::int16_t> samples, VectorCode code) {
  ScalarDecoder decoder{stream, stream + key_bytes_of(samples.size())};
  std::uint64_t index = decode_steps(decoder, samples, code);
  for (; index < samples.size(); ++index) samples[index] = decoder.next(index);
}

std::uint64_t encode_stream_vbyte16(std::span<const std::int16_t> samples, std::byte* stream) {
  const std::uint64_t key_bytes = key_bytes_of(samples.size());
  std::memset(stream, 0, key_bytes);
  std::byte* data = stream + key_bytes;
  std::uint16_t previous = 0;
  for (std::size_t index = 0; index < samples.size(); ++index) {
    const auto sample = static_cast<std::uint16_t>(samples[index]);
    const std::uint16_t value = zigzag(static_cast<std::uint16_t>(sample - previous));
    previous = sample;
    const unsigned key = value > 0xff ? 1U : 0U;
    stream[index / 8] |= static_cast<std::byte>(key << (index % 8));
    std::memcpy(data, &value, sizeof value);
    data += key + 1;
  }
  return static_cast<std::uint64_t>(data - stream);
}

}  // namespace millrace::io
