#include "io/stream_vbyte.h"

#include <array>
#include <bit>
#include <cstring>

#include "io/zigzag_deltas.h"

namespace millrace::io {
namespace {

constexpr std::array<std::uint32_t, 4> kMasks{0xff, 0xffff, 0xffffff, 0xffffffff};

std::uint32_t load_u32(const std::byte* bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::uint32_t unzigzag(std::uint32_t value) { return (value >> 1) ^ (0U - (value & 1U)); }

std::uint32_t zigzag(std::int16_t value) {
  return ((static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 15)) & 0xffffU;
}

/// One value after the other, without branches on the data: the portable way, and the tail of the fast one.
struct ScalarDecoder {
  const std::byte* keys = nullptr;
  const std::byte* data = nullptr;
  std::uint32_t previous = 0;

  template <ValueCoding kCoding>
  std::uint32_t next(std::uint64_t index) {
    const auto key = (std::to_integer<unsigned>(keys[index / 4]) >> (2 * (index % 4))) & 3U;
    const std::uint32_t value = load_u32(data) & kMasks[key];
    data += key + 1;
    if constexpr (kCoding == ValueCoding::plain) return value;
    previous += unzigzag(value);
    return previous;
  }
};

template <typename T>
void store(std::byte* out, std::uint64_t index, std::uint32_t value) {
  const auto cut = static_cast<T>(value);
  std::memcpy(out + index * sizeof(T), &cut, sizeof(T));
}

#if defined(__x86_64__)

struct QuadTables {
  alignas(64) std::array<std::array<std::uint8_t, 16>, 256> shuffles{};
  std::array<std::uint8_t, 256> lengths{};
};

constexpr QuadTables make_quad_tables() {
  QuadTables tables;
  for (unsigned key = 0; key < 256; ++key) {
    unsigned source = 0;
    for (unsigned lane = 0; lane < 4; ++lane) {
      const unsigned bytes = ((key >> (2 * lane)) & 3U) + 1;
      for (unsigned byte = 0; byte < 4; ++byte) {
        tables.shuffles[key][4 * lane + byte] = static_cast<std::uint8_t>(byte < bytes ? source++ : 0x80);
      }
    }
    tables.lengths[key] = static_cast<std::uint8_t>(source);
  }
  return tables;
}

constexpr QuadTables kQuads = make_quad_tables();

/// Four values per step; returns how many it decoded (a multiple of 4) and moves the data and the sum of `decoder` on.
template <ValueCoding kCoding, typename T>
__attribute__((target("ssse3"))) std::uint64_t decode_quads(ScalarDecoder& decoder, std::byte* out,
                                                            std::uint64_t count) {
  const __m128i low_halves = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i ones = _mm_set1_epi32(1);
  __m128i previous = _mm_set1_epi32(static_cast<std::int32_t>(decoder.previous));
  const std::byte* const keys = decoder.keys;
  const std::byte* data = decoder.data;
  const std::uint64_t quads = count / 4;
  for (std::uint64_t quad = 0; quad < quads; ++quad) {
    const auto key = std::to_integer<std::size_t>(keys[quad]);
    const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(kQuads.shuffles[key].data()));
    __m128i x = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data)), shuffle);
    data += kQuads.lengths[key];
    if constexpr (kCoding == ValueCoding::zigzag_delta) {
      x = _mm_xor_si128(_mm_srli_epi32(x, 1), _mm_sub_epi32(_mm_setzero_si128(), _mm_and_si128(x, ones)));
      x = _mm_add_epi32(x, _mm_slli_si128(x, 4));
      x = _mm_add_epi32(x, _mm_slli_si128(x, 8));
      x = _mm_add_epi32(x, previous);
      previous = _mm_shuffle_epi32(x, 0xff);
    }
    if constexpr (sizeof(T) == 2) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 8 * quad), _mm_shuffle_epi8(x, low_halves));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * quad), x);
    }
  }
  decoder.data = data;
  decoder.previous = static_cast<std::uint32_t>(_mm_cvtsi128_si32(previous));
  return 4 * quads;
}

/// Sixteen zig-zagged values per step while none takes more than two bytes, as nearly always in signal; returns how
/// many it decoded. The sums wrap at 16 bits, where those of decode_quads are cut.
__attribute__((target("avx2,bmi2"))) std::uint64_t decode_narrow(ScalarDecoder& decoder, std::byte* out,
                                                                 std::uint64_t count) {
  constexpr std::uint32_t kLow = 0x55555555U;
  __m256i previous = _mm256_set1_epi16(static_cast<std::int16_t>(decoder.previous));
  const std::byte* const keys = decoder.keys;
  const std::byte* data = decoder.data;
  std::uint64_t step = 0;
  for (; step < count / 16; ++step) {
    const std::uint32_t codes = load_u32(keys + 4 * step);
    if ((codes & ~kLow) != 0) break;
    zigzag_deltas::decode_sixteen(_pext_u32(codes, kLow), data, previous,
                                  reinterpret_cast<std::int16_t*>(out) + 16 * step);
  }
  decoder.data = data;
  decoder.previous = static_cast<std::uint16_t>(_mm256_extract_epi16(previous, 0));
  return 16 * step;
}

#else

template <ValueCoding kCoding, typename T>
std::uint64_t decode_quads(ScalarDecoder&, std::byte*, std::uint64_t) {
  return 0;
}

std::uint64_t decode_narrow(ScalarDecoder&, std::byte*, std::uint64_t) { return 0; }

#endif

template <ValueCoding kCoding, typename T>
void decode(const std::byte* stream, std::byte* out, std::uint64_t count, VectorCode code) {
  constexpr std::uint64_t kNarrowStep = 16;
  const std::byte* const keys = stream;
  ScalarDecoder decoder{keys, stream + (count + 3) / 4};
  std::uint64_t index = 0;
  // `decoder` counts keys from `index` on.
  const auto skip = [&](std::uint64_t values) {
    index += values;
    decoder.keys = keys + index / 4;
  };
  if constexpr (kCoding == ValueCoding::zigzag_delta && sizeof(T) == 2) {
    while (code == VectorCode::avx2 && count - index >= kNarrowStep) {
      skip(decode_narrow(decoder, out + index * sizeof(T), count - index));
      if (count - index >= kNarrowStep) {
        skip(decode_quads<kCoding, T>(decoder, out + index * sizeof(T), kNarrowStep));
      }
    }
  }
  if (code != VectorCode::plain) skip(decode_quads<kCoding, T>(decoder, out + index * sizeof(T), count - index));
  for (const std::uint64_t start = index; index < count; ++index) {
    store<T>(out, index, decoder.next<kCoding>(index - start));
  }
}

template <typename T>
void decode(const std::byte* stream, ValueCoding coding, std::byte* out, std::uint64_t count, VectorCode code) {
  if (coding == ValueCoding::zigzag_delta) {
    decode<ValueCoding::zigzag_delta, T>(stream, out, count, code);
  } else {
    decode<ValueCoding::plain, T>(stream, out, count, code);
  }
}

/// Sum of the four 2-bit keys of every byte of `word`.
std::uint64_t sum_of_keys(std::uint64_t word) {
  constexpr std::uint64_t kLow = 0x5555555555555555U;
  return static_cast<std::uint64_t>(std::popcount(word & kLow)) +
         2 * static_cast<std::uint64_t>(std::popcount(word & ~kLow));
}

}  // namespace

std::optional<std::uint64_t> stream_vbyte_bytes(std::span<const std::byte> stream, std::uint64_t count) {
  const std::uint64_t key_bytes = count / 4 + (count % 4 != 0 ? 1 : 0);
  if (stream.size() < key_bytes) return std::nullopt;
  std::uint64_t data_bytes = count;
  const std::uint64_t whole = count / 4;  // key bytes of which every bit counts
  std::uint64_t at = 0;
  for (; at + 8 <= whole; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, stream.data() + at, sizeof word);
    data_bytes += sum_of_keys(word);
  }
  for (; at < whole; ++at) data_bytes += sum_of_keys(std::to_integer<std::uint64_t>(stream[at]));
  if (at < key_bytes) {
    const std::uint64_t used = (std::uint64_t{1} << (2 * (count % 4))) - 1;
    data_bytes += sum_of_keys(std::to_integer<std::uint64_t>(stream[at]) & used);
  }
  return key_bytes + data_bytes;
}

void decode_stream_vbyte(const std::byte* stream, ValueCoding coding, std::span<std::int16_t> samples,
                         VectorCode code) {
  decode<std::uint16_t>(stream, coding, reinterpret_cast<std::byte*>(samples.data()), samples.size(), code);
}

void decode_stream_vbyte_wide(const std::byte* stream, ValueCoding coding, std::byte* values, std::uint64_t count) {
  decode<std::uint32_t>(stream, coding, values, count, fastest_vector_code());
}

std::uint64_t encode_stream_vbyte(std::span<const std::int16_t> samples, std::byte* stream) {
  const std::uint64_t key_bytes = (samples.size() + 3) / 4;
  std::memset(stream, 0, key_bytes);
  std::byte* data = stream + key_bytes;
  std::int16_t previous = 0;
  for (std::size_t index = 0; index < samples.size(); ++index) {
    const std::uint32_t value = zigzag(static_cast<std::int16_t>(samples[index] - previous));
    previous = samples[index];
    const unsigned key = value > 0xff ? 1U : 0U;
    stream[index / 4] |= static_cast<std::byte>(key << (2 * (index % 4)));
    std::memcpy(data, &value, sizeof value);
    data += key + 1;
  }
  return static_cast<std::uint64_t>(data - stream);
}

}  // namespace millrace::io
