#include "io/slow5_unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>
#include <zstd.h>

#include <random>
#include <string>

#include "pipeline/core/error.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using test::error_of;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string packed(const std::string& text, Slow5Packing packing) {
  std::string result(text.size() + 1000, '\0');
  if (packing == Slow5Packing::none) return text;
  if (packing == Slow5Packing::zstd) {
    result.resize(ZSTD_compress(result.data(), result.size(), text.data(), text.size(), 1));
    return result;
  }
  auto* const compressor = libdeflate_alloc_compressor(1);
  result.resize(libdeflate_zlib_compress(compressor, text.data(), text.size(), result.data(), result.size()));
  libdeflate_free_compressor(compressor);
  return result;
}

std::string noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string text(bytes, '\0');
  for (auto& c : text) c = static_cast<char>(random() % 40);
  return text;
}

class Slow5Packings : public testing::TestWithParam<Slow5Packing> {};

TEST_P(Slow5Packings, GivesWhatWasPacked) {
  Slow5Unpacker unpacker;
  for (const std::size_t bytes : {1UL, 10UL, 300UL, 5000UL, 200'000UL, 3'000'000UL, 7UL}) {
    const std::string text = noise(bytes);
    EXPECT_EQ(text_of(unpacker.unpack(bytes_of(packed(text, GetParam())), GetParam(), bytes)), text) << bytes;
  }
}

TEST_P(Slow5Packings, GivesTheFrontOfWhatWasPacked) {
  Slow5Unpacker unpacker;
  const std::string text = noise(400'000);
  const std::string whole = packed(text, GetParam());
  EXPECT_EQ(text_of(unpacker.unpack_front(bytes_of(whole).first(200'000), GetParam(), 70)), text.substr(0, 70));
  EXPECT_EQ(text_of(unpacker.unpack(bytes_of(whole), GetParam(), text.size())), text) << "after it as before";
  const auto little = text_of(unpacker.unpack_front(bytes_of(whole).first(100), GetParam(), 1000));
  EXPECT_LT(little.size(), 1000U);
  EXPECT_EQ(little, text.substr(0, little.size()));
}

INSTANTIATE_TEST_SUITE_P(Packings, Slow5Packings,
                         testing::Values(Slow5Packing::none, Slow5Packing::zlib, Slow5Packing::zstd));

TEST(Slow5Unpacker, FindsDamage) {
  const std::string text = noise(10'000);
  for (const auto packing : {Slow5Packing::zlib, Slow5Packing::zstd}) {
    Slow5Unpacker unpacker;
    const std::string good = packed(text, packing);
    const auto expect_refused = [&](const std::string& bad, const char* what) {
      EXPECT_THROW(unpacker.unpack(bytes_of(bad), packing, text.size()), Error) << what;
    };
    expect_refused("", "nothing");
    expect_refused(good.substr(0, good.size() / 2), "half");
    expect_refused(good.substr(0, good.size() - 1), "the last byte is missing");
    expect_refused(good + "x", "a byte more");
    expect_refused(noise(500), "noise");
    EXPECT_EQ(text_of(unpacker.unpack(bytes_of(good), packing, text.size())), text) << "and goes on";
  }
}

TEST(Slow5Unpacker, ChecksTheChecksumOfZlib) {
  std::string bad = packed(noise(10'000), Slow5Packing::zlib);
  bad.back() = static_cast<char>(bad.back() ^ 1);
  Slow5Unpacker unpacker;
  EXPECT_THAT(error_of([&] { unpacker.unpack(bytes_of(bad), Slow5Packing::zlib, 20'000); })->what(),
              HasSubstr("checksum"));
}

TEST(Slow5Unpacker, UnpacksNoMoreThanIsPossible) {
  const std::string zeros(50'000'000, '\0');
  for (const auto packing : {Slow5Packing::zlib, Slow5Packing::zstd}) {
    Slow5Unpacker unpacker;
    const std::string bomb = packed(zeros, packing);
    ASSERT_LT(bomb.size(), 60'000U);
    const auto error = error_of([&] { unpacker.unpack(bytes_of(bomb), packing, 100'000); });
    EXPECT_THAT(error->what(), HasSubstr("more than the 100000 bytes"));
    EXPECT_LE(zeros.size(), max_unpacked_bytes(bomb.size(), packing));
  }
}

TEST(Slow5Unpacker, TellsTheSizeWhereItIsStored) {
  const std::string text = noise(300);
  EXPECT_EQ(Slow5Unpacker::unpacked_bytes(bytes_of(packed(text, Slow5Packing::zstd)).first(18), Slow5Packing::zstd),
            300U);
  EXPECT_FALSE(Slow5Unpacker::unpacked_bytes(bytes_of(text), Slow5Packing::zstd));
  EXPECT_FALSE(Slow5Unpacker::unpacked_bytes(bytes_of(packed(text, Slow5Packing::zlib)), Slow5Packing::zlib));
}

}  // namespace
}  // namespace millrace::io
