#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

// What both StreamVByte codings of signal have in common when every value takes one byte or two: a bit per value says
// which, values are zig-zagged differences, sums wrap at 16 bits. For the files that decode them, and for no others.

namespace millrace::io::zigzag_deltas {

/// For 8 values by their 8 bits: where the bytes of each 16-bit lane come from, and how many bytes they take.
struct Octets {
  alignas(64) std::array<std::array<std::uint8_t, 16>, 256> shuffles{};
  std::array<std::uint8_t, 256> lengths{};
};

constexpr Octets make_octets() {
  Octets octets;
  for (unsigned bits = 0; bits < 256; ++bits) {
    unsigned source = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const bool two = ((bits >> lane) & 1U) != 0;
      octets.shuffles[bits][2 * lane] = static_cast<std::uint8_t>(source++);
      octets.shuffles[bits][2 * lane + 1] = two ? static_cast<std::uint8_t>(source++) : std::uint8_t{0x80};
    }
    octets.lengths[bits] = static_cast<std::uint8_t>(source);
  }
  return octets;
}

inline constexpr Octets kOctets = make_octets();

/// The 8 values that `bits` describes, from `data`, of which 16 bytes must be readable; moves `data` on.
__attribute__((target("ssse3"))) inline __m128i load_octet(unsigned bits, const std::byte*& data) {
  const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(kOctets.shuffles[bits].data()));
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
  data += kOctets.lengths[bits];
  return _mm_shuffle_epi8(bytes, shuffle);
}

/// Decodes 8 values to `samples`. `previous`: the sample before them in every lane; moved on.
__attribute__((target("ssse3"))) inline void decode_octet(unsigned bits, const std::byte*& data, __m128i& previous,
                                                          std::int16_t* samples) {
  __m128i x = load_octet(bits, data);
  const __m128i sign = _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(x, _mm_set1_epi16(1)));
  x = _mm_xor_si128(_mm_srli_epi16(x, 1), sign);
  x = _mm_add_epi16(x, _mm_slli_si128(x, 2));
  x = _mm_add_epi16(x, _mm_slli_si128(x, 4));
  x = _mm_add_epi16(x, _mm_slli_si128(x, 8));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(samples), _mm_add_epi16(x, previous));
  // The sum goes on beside the samples: the next step waits for one addition of this one.
  previous = _mm_add_epi16(previous, _mm_shuffle_epi8(x, _mm_set1_epi16(0x0f0e)));
}

/// Decodes 16 values, the first by the low bits. `previous` as above.
__attribute__((target("avx2"))) inline void decode_sixteen(unsigned bits, const std::byte*& data, __m256i& previous,
                                                           std::int16_t* samples) {
  const __m128i first = load_octet(bits & 0xffU, data);
  const __m128i second = load_octet((bits >> 8) & 0xffU, data);
  __m256i x = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
  const __m256i sign = _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_and_si256(x, _mm256_set1_epi16(1)));
  x = _mm256_xor_si256(_mm256_srli_epi16(x, 1), sign);
  x = _mm256_add_epi16(x, _mm256_slli_si256(x, 2));
  x = _mm256_add_epi16(x, _mm256_slli_si256(x, 4));
  x = _mm256_add_epi16(x, _mm256_slli_si256(x, 8));
  const __m256i last = _mm256_set1_epi16(0x0f0e);
  // The sum of the first eight goes to the second eight.
  x = _mm256_add_epi16(x, _mm256_shuffle_epi8(_mm256_permute2x128_si256(x, x, 0x08), last));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(samples), _mm256_add_epi16(x, previous));
  previous = _mm256_add_epi16(previous, _mm256_shuffle_epi8(_mm256_permute2x128_si256(x, x, 0x11), last));
}

}  // namespace millrace::io::zigzag_deltas

#endif
