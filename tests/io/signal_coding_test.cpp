#include "io/signal_coding.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include <cstring>
#include <random>
#include <vector>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

using Samples = std::vector<std::int16_t>;
using Bytes = std::vector<std::byte>;

Samples some_samples(std::size_t count) {
  std::mt19937_64 random(count);
  Samples samples(count);
  for (auto& sample : samples) sample = static_cast<std::int16_t>(400 + random() % 50);
  return samples;
}

Bytes bytes_of(const Samples& samples) {
  const auto bytes = std::as_bytes(std::span(samples));
  return {bytes.begin(), bytes.end()};
}

Bytes deflated(const Bytes& plain) {
  libdeflate_compressor* const compressor = libdeflate_alloc_compressor(1);
  Bytes packed(libdeflate_zlib_compress_bound(compressor, plain.size()));
  packed.resize(libdeflate_zlib_compress(compressor, plain.data(), plain.size(), packed.data(), packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

Bytes shuffled(const Bytes& plain) {
  Bytes result;
  for (const std::size_t half : {0U, 1U}) {
    for (std::size_t i = half; i < plain.size(); i += 2) result.push_back(plain[i]);
  }
  return result;
}

/// The sum as HDF5's own source computes it: end-around carries, 360 words at a time.
Bytes with_checksum(Bytes plain) {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::size_t words = plain.size() / 2;
  const std::byte* at = plain.data();
  while (words != 0) {
    std::size_t run = std::min<std::size_t>(words, 360);
    words -= run;
    for (; run > 0; --run, at += 2) {
      low += (std::to_integer<std::uint32_t>(at[0]) << 8) | std::to_integer<std::uint32_t>(at[1]);
      high += low;
    }
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
  }
  if (plain.size() % 2 != 0) {
    low += std::to_integer<std::uint32_t>(*at) << 8;
    high += low;
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
  }
  low = (low & 0xffff) + (low >> 16);
  high = (high & 0xffff) + (high >> 16);
  const std::uint32_t sum = (high << 16) | low;
  const auto stored = std::as_bytes(std::span(&sum, 1));
  plain.insert(plain.end(), stored.begin(), stored.end());
  return plain;
}

Samples decoded(const Bytes& piece, std::string_view coding, std::size_t count, std::uint32_t mask = 0) {
  SignalDecoder decoder;
  Samples samples(count);
  decoder.decode(piece, parse_signal_coding(coding), mask, samples);
  return samples;
}

TEST(SignalCoding, TextAndStepsAreTheSameThing) {
  for (const char* const text : {"none", "deflate", "shuffle+deflate", "shuffle+deflate+fletcher32", "vbz:0,2,1,1",
                                 "vbz:1,4,0,0", "vbz:1,2,1,1+fletcher32"}) {
    EXPECT_EQ(text_of(parse_signal_coding(text)), text);
  }
}

TEST(SignalCoding, RefusesTextThatIsNoCoding) {
  for (const char* const text :
       {"", "gzip", "deflate+", "+deflate", "none+deflate", "vbz", "vbz:", "vbz:1", "vbz:1,2,1,", "vbz:1,2,1,x",
        "vbz:1,2;1", "vbz:9,2,1,1", "vbz:1,99999999999,1,1", "Deflate"}) {
    EXPECT_THROW(parse_signal_coding(text), Error) << text;
  }
}

TEST(SignalCoding, DecodesEveryChainOfSteps) {
  for (const std::size_t count : {1U, 2U, 99U, 1000U, 50000U}) {
    const Samples samples = some_samples(count);
    const Bytes plain = bytes_of(samples);
    EXPECT_EQ(decoded(plain, "none", count), samples);
    EXPECT_EQ(decoded(deflated(plain), "deflate", count), samples);
    EXPECT_EQ(decoded(shuffled(plain), "shuffle", count), samples);
    EXPECT_EQ(decoded(deflated(shuffled(plain)), "shuffle+deflate", count), samples);
    EXPECT_EQ(decoded(with_checksum(plain), "fletcher32", count), samples);
    EXPECT_EQ(decoded(with_checksum(deflated(shuffled(plain))), "shuffle+deflate+fletcher32", count), samples);
    EXPECT_EQ(decoded(deflated(with_checksum(plain)), "fletcher32+deflate", count), samples);
    VbzEncoder vbz;
    const auto chunk = vbz.encode(samples);
    EXPECT_EQ(decoded(with_checksum({chunk.begin(), chunk.end()}), "vbz:1,2,1,1+fletcher32", count), samples);
  }
}

TEST(SignalCoding, KnowsTheChecksumOfZerosAndOfFullSums) {
  for (const std::int16_t value : {0, -1, 1}) {
    const Samples samples(4000, value);
    EXPECT_EQ(decoded(with_checksum(bytes_of(samples)), "fletcher32", 4000), samples) << value;
  }
}

TEST(SignalCoding, SkipsTheStepsOfTheMask) {
  const Samples samples = some_samples(200);
  const Bytes plain = bytes_of(samples);
  EXPECT_EQ(decoded(plain, "deflate", 200, 0b1), samples);
  EXPECT_EQ(decoded(shuffled(plain), "shuffle+deflate", 200, 0b10), samples);
  EXPECT_EQ(decoded(deflated(plain), "shuffle+deflate", 200, 0b01), samples);
  EXPECT_EQ(decoded(plain, "vbz:1,2,1,1", 200, 0b1), samples);
}

TEST(SignalCoding, RefusesAnyOtherNumberOfSamples) {
  const Bytes plain = bytes_of(some_samples(100));
  for (const std::size_t count : {0U, 99U, 101U, 5000U}) {
    EXPECT_THROW(decoded(plain, "none", count), Error) << count;
    EXPECT_THROW(decoded(deflated(plain), "deflate", count), Error) << count;
    EXPECT_THROW(decoded(deflated(shuffled(plain)), "shuffle+deflate", count), Error) << count;
  }
}

TEST(SignalCoding, FindsEveryFlippedBitUnderAChecksum) {
  const Bytes good = with_checksum(bytes_of(some_samples(40)));
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes piece = good;
    piece[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_THROW(decoded(piece, "fletcher32", 40), Error) << bit;
  }
}

TEST(SignalCoding, DecodesPiecesThatHoldFewerSamplesWhenToldSo) {
  const Samples samples = some_samples(100);
  const Bytes plain = bytes_of(samples);
  VbzEncoder vbz;
  const auto chunk = vbz.encode(samples);
  for (const auto& [coding, piece] : {std::pair{"none", plain}, std::pair{"shuffle+deflate", deflated(shuffled(plain))},
                                      std::pair{"vbz:1,2,1,1", Bytes(chunk.begin(), chunk.end())}}) {
    SignalDecoder decoder;
    Samples back(150);
    EXPECT_EQ(decoder.decode_up_to(piece, parse_signal_coding(coding), 0, back), 100U) << coding;
    back.resize(100);
    EXPECT_EQ(back, samples) << coding;
    back.resize(99);
    EXPECT_THROW(decoder.decode_up_to(piece, parse_signal_coding(coding), 0, back), Error) << coding;
  }
}

TEST(SignalCoding, RefusesTruncatedAndExtendedPieces) {
  const Bytes plain = bytes_of(some_samples(60));
  for (const auto& [coding, piece] :
       {std::pair{"deflate", deflated(plain)}, std::pair{"none", plain},
        std::pair{"shuffle+deflate+fletcher32", with_checksum(deflated(shuffled(plain)))}}) {
    for (std::size_t size = 0; size < piece.size(); ++size) {
      EXPECT_THROW(decoded(Bytes(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size)), coding, 60), Error)
          << coding << " " << size;
    }
    Bytes longer = piece;
    longer.push_back(std::byte{0});
    EXPECT_THROW(decoded(longer, coding, 60), Error) << coding;
  }
}

TEST(SignalCoding, SurvivesRandomDamage) {
  std::mt19937_64 random(3);
  const Samples samples = some_samples(300);
  const Bytes good = deflated(shuffled(bytes_of(samples)));
  SignalDecoder decoder;
  const SignalCoding coding = parse_signal_coding("shuffle+deflate");
  Samples back(300);
  for (int round = 0; round < 3000; ++round) {
    Bytes piece = good;
    for (auto flips = 1 + random() % 4; flips > 0; --flips)
      piece[random() % piece.size()] = static_cast<std::byte>(random());
    try {
      decoder.decode(piece, coding, 0, back);
    } catch (const Error&) {
    }
  }
  decoder.decode(good, coding, 0, back);
  EXPECT_EQ(back, samples) << "a decoder is as good as new after a failure";
}

TEST(SignalCoding, RefusesVbzThatIsNotTheFirstStep) {
  const Bytes plain = bytes_of(some_samples(8));
  EXPECT_THROW(decoded(plain, "shuffle+vbz:1,2,1,1", 8), Error);
}

TEST(SignalCoding, BoundsWhatBytesCanHold) {
  EXPECT_EQ(max_samples(parse_signal_coding("none"), 100), 50U);
  EXPECT_LT(max_samples(parse_signal_coding("deflate"), 100), 100'000U);
  EXPECT_GT(max_samples(parse_signal_coding("vbz:1,2,1,1"), 1000), 10'000'000U);
  EXPECT_EQ(max_samples(parse_signal_coding("deflate"), ~std::uint64_t{0}), ~std::uint64_t{0});
}

}  // namespace
}  // namespace millrace::io
