#include "io/stream_vbyte.h"

#include <gtest/gtest.h>
#include <streamvbyte.h>

#include <cstring>
#include <random>
#include <vector>

#include "tests/support/vector_codes.h"

namespace millrace::io {
namespace {

std::vector<std::byte> encoded(const std::vector<std::int16_t>& samples) {
  std::vector<std::byte> stream(stream_vbyte_max_bytes(samples.size()) + kStreamVbytePadding);
  stream.resize(encode_stream_vbyte(samples, stream.data()));
  return stream;
}

/// The samples that all instructions of this machine agree upon.
std::vector<std::int16_t> decoded(std::vector<std::byte> stream, std::size_t count) {
  EXPECT_EQ(stream_vbyte_bytes(stream, count), stream.size());
  stream.resize(stream.size() + kStreamVbytePadding);
  std::vector<std::int16_t> samples(count);
  decode_stream_vbyte(stream.data(), ValueCoding::zigzag_delta, samples, VectorCode::plain);
  for (const VectorCode code : test::vector_codes()) {
    std::vector<std::int16_t> others(count);
    decode_stream_vbyte(stream.data(), ValueCoding::zigzag_delta, others, code);
    EXPECT_EQ(others, samples) << "with instructions " << static_cast<int>(code);
  }
  return samples;
}

std::vector<std::byte> encoded_by_library(const std::vector<std::uint32_t>& values) {
  std::vector<std::byte> stream(stream_vbyte_max_bytes(values.size()));
  stream.resize(streamvbyte_encode(values.data(), static_cast<std::uint32_t>(values.size()),
                                   reinterpret_cast<std::uint8_t*>(stream.data())));
  return stream;
}

TEST(StreamVbyte, DifferencesWrapInSixteenBits) {
  const std::vector<std::int16_t> samples{-32768, 32767};
  const std::vector<std::byte> expected{std::byte{0b0001}, std::byte{0xff}, std::byte{0xff}, std::byte{0x01}};
  EXPECT_EQ(encoded(samples), expected);
  EXPECT_EQ(decoded(expected, 2), samples);
}

TEST(StreamVbyte, ReadsDifferencesThatDoNotWrapToo) {
  const std::vector<std::byte> stream{std::byte{0b1001}, std::byte{0xff}, std::byte{0xff},
                                      std::byte{0xfe},   std::byte{0xff}, std::byte{0x01}};
  EXPECT_EQ(decoded(stream, 2), (std::vector<std::int16_t>{-32768, 32767}));
}

TEST(StreamVbyte, DecodesWhatItEncodedAtEveryLength) {
  std::mt19937_64 random(1);
  for (std::size_t count = 0; count < 200; ++count) {
    std::vector<std::int16_t> samples(count);
    const int step = 1 << (count % 17);
    for (auto& sample : samples) sample = static_cast<std::int16_t>(random() % static_cast<unsigned>(step));
    EXPECT_EQ(decoded(encoded(samples), count), samples) << count << " samples";
  }
}

TEST(StreamVbyte, WritesTheStreamThatTheLibraryWrites) {
  std::mt19937_64 random(2);
  std::vector<std::int16_t> samples(1003);
  std::vector<std::uint32_t> values;
  std::int16_t previous = 0;
  for (auto& sample : samples) {
    sample = static_cast<std::int16_t>(random());
    const auto difference = static_cast<std::int16_t>(sample - previous);
    values.push_back(((static_cast<std::uint32_t>(difference) << 1) ^ static_cast<std::uint32_t>(difference >> 15)) &
                     0xffffU);
    previous = sample;
  }
  EXPECT_EQ(encoded(samples), encoded_by_library(values));
}

TEST(StreamVbyte, DecodesPlainValuesOfEveryWidthAsTheLibraryEncodesThem) {
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> values(997);
  for (auto& value : values) value = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
  auto stream = encoded_by_library(values);
  ASSERT_EQ(stream_vbyte_bytes(stream, values.size()), stream.size());
  stream.resize(stream.size() + kStreamVbytePadding);

  std::vector<std::byte> wide(4 * values.size());
  decode_stream_vbyte_wide(stream.data(), ValueCoding::plain, wide.data(), values.size());
  EXPECT_EQ(std::memcmp(wide.data(), values.data(), wide.size()), 0);

  std::vector<std::int16_t> cut(values.size());
  decode_stream_vbyte(stream.data(), ValueCoding::plain, cut);
  for (std::size_t i = 0; i < cut.size(); ++i) ASSERT_EQ(cut[i], static_cast<std::int16_t>(values[i])) << i;
}

TEST(StreamVbyte, SumsDifferencesOfAllWidthsInAnyMixture) {
  std::mt19937_64 random(5);
  for (std::size_t round = 0; round < 400; ++round) {
    // Wide ones never, now and then, often.
    const std::uint64_t rarity = round % 4 == 0 ? UINT64_MAX : 1 + random() % 100;
    std::vector<std::uint32_t> codes(random() % 300);
    for (auto& code : codes)
      code = static_cast<std::uint32_t>(random() >> (random() % rarity == 0 ? 32 : 48 + random() % 16));
    std::vector<std::int16_t> expected;
    std::uint32_t sum = 0;
    for (const std::uint32_t code : codes) {
      sum += (code >> 1) ^ (0U - (code & 1U));
      expected.push_back(static_cast<std::int16_t>(sum));
    }
    EXPECT_EQ(decoded(encoded_by_library(codes), codes.size()), expected) << "round " << round;
  }
}

TEST(StreamVbyte, CountsTheBytesThatTheKeysAskForAndIgnoresUnusedKeys) {
  std::mt19937_64 random(4);
  for (std::size_t count = 1; count < 150; ++count) {
    std::vector<std::byte> keys((count + 3) / 4);
    for (auto& key : keys) key = static_cast<std::byte>(random());
    std::uint64_t expected = keys.size();
    for (std::size_t i = 0; i < count; ++i) {
      expected += ((std::to_integer<unsigned>(keys[i / 4]) >> (2 * (i % 4))) & 3U) + 1;
    }
    EXPECT_EQ(stream_vbyte_bytes(keys, count), expected) << count << " values";
  }
}

TEST(StreamVbyte, HasNoSizeWhenTheKeysAreCutOff) {
  const std::vector<std::byte> keys(3);
  EXPECT_FALSE(stream_vbyte_bytes(keys, 13).has_value());
  EXPECT_FALSE(stream_vbyte_bytes({}, 1).has_value());
  EXPECT_EQ(stream_vbyte_bytes({}, 0), 0U);
}

}  // namespace
}  // namespace millrace::io
