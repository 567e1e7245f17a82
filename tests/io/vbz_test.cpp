#include "io/vbz.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

using Samples = std::vector<std::int16_t>;
using Bytes = std::vector<std::byte>;

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

Bytes encoded(const Samples& samples, std::uint32_t level = 1) {
  VbzEncoder encoder(level);
  const auto chunk = encoder.encode(samples);
  return {chunk.begin(), chunk.end()};
}

Samples decoded(const Bytes& chunk, const Vbz& vbz, std::size_t count) {
  VbzDecoder decoder;
  Samples samples(count);
  decoder.decode(chunk, vbz, samples);
  return samples;
}

Vbz with_level(std::uint32_t level) { return {1, 2, true, level}; }

/// A walk with small and sometimes full-range steps, as signal and as the worst that a file can hold.
Samples walk(std::mt19937_64& random, std::size_t count) {
  Samples samples(count);
  std::int16_t value = 0;
  for (auto& sample : samples) {
    const auto step =
        random() % 64 == 0 ? static_cast<std::int64_t>(random()) : static_cast<std::int64_t>(random() % 41) - 20;
    value = static_cast<std::int16_t>(value + step);
    sample = value;
  }
  return samples;
}

TEST(Vbz, DecodesWhatItEncodedWithAndWithoutZstd) {
  std::mt19937_64 random(1);
  VbzDecoder decoder;
  for (const std::uint32_t level : {0U, 1U, 9U}) {
    VbzEncoder encoder(level);
    for (std::size_t count = 0; count < 3000; count = count * 2 + 1 + random() % 3) {
      const Samples samples = walk(random, count);
      Samples back(count);
      decoder.decode(encoder.encode(samples), with_level(level), back);
      ASSERT_EQ(back, samples) << count << " samples, level " << level;
    }
  }
}

TEST(Vbz, KeepsExtremes) {
  const Samples samples{32767, -32768, 32767, -32768, 0, -1, 1, -32768, -32768, 32767, 32767, 0, 0};
  EXPECT_EQ(decoded(encoded(samples), with_level(1), samples.size()), samples);
  EXPECT_EQ(decoded(encoded(samples, 0), with_level(0), samples.size()), samples);
}

TEST(Vbz, ReadsAChunkMadeByTheReferenceLibrary) {
  // vbz_compress_sized of libvbz 1.0.2, [5, -3, 300, -32768, 32767], zstd level 0 and 1.
  const Samples samples{5, -3, 300, -32768, 32767};
  EXPECT_EQ(decoded(from_hex("0a00000050000a0f5e02a8fd01"), with_level(0), 5), samples);
  EXPECT_EQ(decoded(from_hex("0a00000028b52ffd200949000050000a0f5e02a8fd01"), with_level(1), 5), samples);
}

TEST(Vbz, ReadsFourByteIntegersMadeByTheReferenceLibrary) {
  EXPECT_EQ(decoded(from_hex("0c00000028b52ffd200c6100003ef5ff05b1fdf9ff5902f1ff"), {1, 4, true, 1}, 6),
            (Samples{5, -3, 300, -32768, 32767, 7}));
}

TEST(Vbz, ReadsChunksWithoutIntegerCodingMadeByTheReferenceLibrary) {
  EXPECT_EQ(decoded(from_hex("0a0000000500fdff2c010080ff7f"), {1, 0, false, 0}, 5),
            (Samples{5, -3, 300, -32768, 32767}));
}

TEST(Vbz, ReadsChunksWithoutDifferencesMadeByTheReferenceLibrary) {
  EXPECT_EQ(decoded(from_hex("0a00000028b52ffd200f790000dc0105fdffffff2c010080ffffff7f"), {1, 2, false, 1}, 5),
            (Samples{5, -3, 300, -32768, 32767}));
}

TEST(Vbz, TakesItsParametersFromTheFilter) {
  const std::vector<std::uint32_t> old{0, 2, 1, 1, 1};
  EXPECT_EQ(Vbz::from_filter_values(old), (Vbz{0, 2, true, 1}));
  const std::vector<std::uint32_t> without_level{1, 4, 0};
  EXPECT_EQ(Vbz::from_filter_values(without_level), (Vbz{1, 4, false, 1}));
  EXPECT_EQ(Vbz{}.filter_values(), (std::vector<std::uint32_t>{1, 2, 1, 1}));
}

TEST(Vbz, RefusesParametersItCannotVouchFor) {
  for (const auto& values :
       {std::vector<std::uint32_t>{}, {1, 2}, {2, 2, 1, 1}, {1, 1, 1, 1}, {0, 3, 1, 1}, {1, 8, 1, 1}}) {
    EXPECT_THROW(Vbz::from_filter_values(values), Error) << testing::PrintToString(values);
  }
}

TEST(Vbz, RefusesAChunkOfAnotherSizeThanExpected) {
  const Bytes chunk = encoded(Samples(100, 7));
  EXPECT_THROW(decoded(chunk, with_level(1), 99), Error);
  EXPECT_THROW(decoded(chunk, with_level(1), 101), Error);
}

TEST(Vbz, RefusesEveryTruncation) {
  std::mt19937_64 random(5);
  const Samples samples = walk(random, 300);
  for (const std::uint32_t level : {0U, 1U}) {
    const Bytes chunk = encoded(samples, level);
    for (std::size_t size = 0; size < chunk.size(); ++size) {
      EXPECT_THROW(
          decoded(Bytes(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(size)), with_level(level), 300),
          Error)
          << size << " bytes, level " << level;
    }
  }
}

TEST(Vbz, RefusesBytesAfterTheChunk) {
  for (const std::uint32_t level : {0U, 1U}) {
    Bytes chunk = encoded(Samples(50, 3), level);
    chunk.push_back(std::byte{0});
    EXPECT_THROW(decoded(chunk, with_level(level), 50), Error) << "level " << level;
  }
}

TEST(Vbz, SurvivesDamageOfEveryKind) {
  std::mt19937_64 random(6);
  VbzDecoder decoder;
  Samples back(500);
  for (const std::uint32_t level : {0U, 1U}) {
    const Bytes good = encoded(walk(random, 500), level);
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
      Bytes chunk = good;
      for (auto flips = 1 + random() % 3; flips > 0; --flips) {
        chunk[random() % chunk.size()] ^= static_cast<std::byte>(1U << (random() % 8));
      }
      try {
        decoder.decode(chunk, with_level(level), back);
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 0);
  }
}

TEST(Vbz, AllocatesNothingForAHostileSize) {
  // A zstd frame header that claims 2^62 bytes of content.
  const Bytes chunk = from_hex(
      "0a000000"
      "28b52ffd"
      "e0"
      "0000000000000040"
      "010000");
  VbzDecoder decoder;
  Samples back(5);
  EXPECT_THROW(decoder.decode(chunk, with_level(1), back), Error);
  EXPECT_EQ(decoder.scratch_bytes(), 0U);
}

TEST(Vbz, KeepsItsScratchBufferFromCallToCall) {
  std::mt19937_64 random(7);
  const Samples samples = walk(random, 4000);
  const Bytes chunk = encoded(samples);
  VbzDecoder decoder;
  Samples back(4000);
  decoder.decode(chunk, with_level(1), back);
  const auto bytes = decoder.scratch_bytes();
  for (int i = 0; i < 10; ++i) decoder.decode(chunk, with_level(1), back);
  EXPECT_EQ(decoder.scratch_bytes(), bytes);
}

}  // namespace
}  // namespace millrace::io
