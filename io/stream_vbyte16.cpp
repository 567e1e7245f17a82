#include "io/stream_vbyte16.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <tmmintrin.h>
#endif

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

using Shuffles = std::array<std::array<std::uint8_t, 16>, 256>;

constexpr Shuffles make_shuffles() {
  Shuffles shuffles{};
  for (unsigned key = 0; key < 256; ++key) {
    unsigned source = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const bool two = ((key >> lane) & 1U) != 0;
      shuffles[key][2 * lane] = static_cast<std::uint8_t>(source++);
      shuffles[key][2 * lane + 1] = two ? static_cast<std::uint8_t>(source++) : std::uint8_t{0x80};
    }
  }
  return shuffles;
}

alignas(64) constexpr Shuffles kShuffles = make_shuffles();

/// Eight samples per step; returns how many it decoded (a multiple of 8) and moves `decoder` on.
__attribute__((target("ssse3"))) std::uint64_t decode_octets(ScalarDecoder& decoder, std::span<std::int16_t> samples) {
  const __m128i ones = _mm_set1_epi16(1);
  const __m128i last = _mm_set1_epi16(0x0f0e);
  __m128i previous = _mm_setzero_si128();
  const std::byte* data = decoder.data;
  const std::uint64_t octets = samples.size() / 8;
  for (std::uint64_t octet = 0; octet < octets; ++octet) {
    const auto key = std::to_integer<unsigned>(decoder.keys[octet]);
    const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(kShuffles[key].data()));
    __m128i x = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data)), shuffle);
    data += 8 + std::popcount(key);
    x = _mm_xor_si128(_mm_srli_epi16(x, 1), _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(x, ones)));
    x = _mm_add_epi16(x, _mm_slli_si128(x, 2));
    x = _mm_add_epi16(x, _mm_slli_si128(x, 4));
    x = _mm_add_epi16(x, _mm_slli_si128(x, 8));
    x = _mm_add_epi16(x, previous);
    previous = _mm_shuffle_epi8(x, last);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(samples.data() + 8 * octet), x);
  }
  decoder.data = data;
  decoder.previous = static_cast<std::uint16_t>(_mm_extract_epi16(previous, 0));
  return 8 * octets;
}

bool have_octets() { return __builtin_cpu_supports("ssse3") != 0; }

#else

std::uint64_t decode_octets(ScalarDecoder&, std::span<std::int16_t>) { return 0; }

bool have_octets() { return false; }

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

void decode_stream_vbyte16(const std::byte* stream, std::span<std::int16_t> samples) {
  ScalarDecoder decoder{stream, stream + key_bytes_of(samples.size())};
  std::uint64_t index = have_octets() ? decode_octets(decoder, samples) : 0;
  for (; index < samples.size(); ++index) samples[index] = decoder.next(index);
}

void decode_stream_vbyte16_scalar(const std::byte* stream, std::span<std::int16_t> samples) {
  ScalarDecoder decoder{stream, stream + key_bytes_of(samples.size())};
  for (std::uint64_t index = 0; index < samples.size(); ++index) samples[index] = decoder.next(index);
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
