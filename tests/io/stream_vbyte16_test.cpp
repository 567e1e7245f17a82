#include "io/stream_vbyte16.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/vector_codes.h"

namespace millrace::io {
namespace {

using Samples = std::vector<std::int16_t>;

std::vector<std::byte> encoded(const Samples& samples) {
  std::vector<std::byte> stream(stream_vbyte16_max_bytes(samples.size()) + kStreamVbyte16Padding);
  stream.resize(encode_stream_vbyte16(samples, stream.data()));
  return stream;
}

std::string hex(const std::vector<std::byte>& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

Samples decoded(std::vector<std::byte> stream, std::size_t count, VectorCode code) {
  EXPECT_EQ(stream_vbyte16_bytes(stream, count), stream.size());
  stream.resize(stream.size() + kStreamVbyte16Padding);
  Samples samples(count);
  decode_stream_vbyte16(stream.data(), samples, code);
  return samples;
}

TEST(StreamVbyte16, MatchesTheVectorsOfTheFormat) {
  EXPECT_EQ(hex(encoded({0})), "0000");
  EXPECT_EQ(hex(encoded({100, 101, 99, 99})), "00c8020300");
  EXPECT_EQ(hex(encoded({0, 127, -1, -129, 0, 32767, -32768, 32767, -1})), "300100feffff0201feff0201ffff");
  EXPECT_EQ(hex(encoded(Samples(9, 500))), "0100e8030000000000000000");
  EXPECT_EQ(hex(encoded({})), "");
}

TEST(StreamVbyte16, GivesBackWhatItWasGivenWithAllInstructions) {
  std::mt19937_64 random(16);
  for (std::size_t count = 0; count < 300; ++count) {
    Samples samples(count);
    const auto spread = std::int64_t{1} << (random() % 17);
    for (auto& sample : samples) sample = static_cast<std::int16_t>(static_cast<std::int64_t>(random()) % spread);
    const auto stream = encoded(samples);
    EXPECT_LE(stream.size(), stream_vbyte16_max_bytes(count));
    for (const VectorCode code : test::vector_codes()) EXPECT_EQ(decoded(stream, count, code), samples) << count;
  }
}

TEST(StreamVbyte16, SaysHowLongAStreamIsByItsKeysAlone) {
  const auto stream = encoded({500, 1, 2, 3, 4, 5, 6, 7, 1000, 1001});
  EXPECT_EQ(stream_vbyte16_bytes(stream, 10), stream.size());
  EXPECT_EQ(stream_vbyte16_bytes(std::span(stream).first(1), 10), std::nullopt);
  std::vector<std::byte> unused_bits(2 + 9, std::byte{0xfe});
  unused_bits[0] = std::byte{0};
  unused_bits[1] = std::byte{0xfe};  // only the lowest bit belongs to a value
  EXPECT_EQ(stream_vbyte16_bytes(unused_bits, 9), 2U + 9U);
}

}  // namespace
}  // namespace millrace::io
