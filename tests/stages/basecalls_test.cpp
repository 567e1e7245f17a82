#include "stages/basecalls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

Chunk rows(const std::string& bases, const std::vector<std::uint8_t>& qualities) {
  std::vector<std::uint8_t> bytes(bases.begin(), bases.end());
  bytes.insert(bytes.end(), qualities.begin(), qualities.end());
  const Chunk flat = test::chunk_of(bytes);
  return flat.with(Buffer(flat.buffer()), DType::u8, {2, bytes.size() / 2});
}

std::string refusal_of(const Chunk& chunk) {
  const auto error = test::error_of([&] { basecalls_of(chunk); });
  return error ? error->message() : "";
}

TEST(Basecalls, SeesTheTwoRows) {
  const Chunk chunk = rows("ACGTN", {0, 1, 40, 93, 2});
  const Basecalls calls = basecalls_of(chunk);
  EXPECT_EQ(calls.bases, "ACGTN");
  EXPECT_EQ(std::vector(calls.qualities.begin(), calls.qualities.end()), (std::vector<std::uint8_t>{0, 1, 40, 93, 2}));
}

TEST(Basecalls, AReadWithoutACallHasNoBases) {
  const Chunk chunk = rows("", {});
  EXPECT_TRUE(basecalls_of(chunk).bases.empty());
  EXPECT_TRUE(basecalls_of(chunk).qualities.empty());
}

TEST(Basecalls, RefusesOtherShapesAndTypes) {
  const Chunk flat = test::chunk_of(std::vector<std::uint8_t>{'A', 'C', 'G', 'T'});
  EXPECT_EQ(refusal_of(flat), "basecalls are u8 of the shape [2, n], not u8 [4]");
  EXPECT_EQ(refusal_of(flat.with(Buffer(flat.buffer()), DType::u8, {4, 1})),
            "basecalls are u8 of the shape [2, n], not u8 [4, 1]");
  EXPECT_EQ(refusal_of(flat.with(Buffer(flat.buffer()), DType::i8, {2, 2})),
            "basecalls are u8 of the shape [2, n], not i8 [2, 2]");
  EXPECT_EQ(refusal_of(flat.with(Buffer(flat.buffer()), DType::u8, {2, 2, 1})),
            "basecalls are u8 of the shape [2, n], not u8 [2, 2, 1]");
}

TEST(Basecalls, RefusesEveryOtherLetter) {
  const std::string letters = "ACGTN";
  for (int byte = 0; byte < 256; ++byte) {
    const Chunk chunk = rows(std::string("AC") + static_cast<char>(byte), {1, 2, 3});
    if (byte < 128 && letters.find(static_cast<char>(byte)) != std::string::npos) {
      EXPECT_NO_THROW(basecalls_of(chunk)) << byte;
    } else {
      EXPECT_EQ(refusal_of(chunk), "base 2 is the byte " + std::to_string(byte) + ", none of the letters ACGTN");
    }
  }
}

TEST(Basecalls, RefusesEveryLargerQuality) {
  for (int quality = 0; quality < 256; ++quality) {
    const Chunk chunk = rows("ACG", {1, static_cast<std::uint8_t>(quality), 3});
    if (quality <= 93) {
      EXPECT_NO_THROW(basecalls_of(chunk)) << quality;
    } else {
      EXPECT_EQ(refusal_of(chunk), "the quality of base 1 is " + std::to_string(quality) + ", above 93");
    }
  }
}

TEST(Basecalls, TheTypeHoldsBothRows) {
  const ChunkType type = basecalls_type(1000);
  EXPECT_EQ(type.dtype, DType::u8);
  EXPECT_EQ(type.content, "basecalls");
  EXPECT_EQ(type.max_bytes, 2000U);
}

}  // namespace
}  // namespace millrace
