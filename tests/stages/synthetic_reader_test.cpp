#include "stages/synthetic_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/clock.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::values_of;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> bytes_of(const Chunk& chunk) { return {chunk.bytes().begin(), chunk.bytes().end()}; }

SyntheticReader reader_with(std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>> values) {
  return SyntheticReader(options_of(values));
}

TEST(SyntheticReader, MakesAsManyChunksAsItIsTold) {
  SyntheticReader reader = reader_with({{"chunks", std::int64_t{3}}, {"chunk_bytes", "8 B"}, {"dtype", "i16"}});
  EXPECT_EQ(reader.prepare().text(), "i16 bytes, up to 8 B");
  EXPECT_EQ(reader.total_chunks(), 3U);
  EXPECT_EQ(reader.total_bytes(), 24U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(reader.produce(i)->elements(), 4U);
  EXPECT_FALSE(reader.produce(3));
  SyntheticReader none = reader_with({{"chunks", std::int64_t{0}}});
  none.prepare();
  EXPECT_FALSE(none.produce(0));
}

TEST(SyntheticReader, AChunkDependsOnTheSeedAndItsNumberAlone) {
  SyntheticReader first = reader_with({{"chunk_bytes", "1001 B"}});
  SyntheticReader second = reader_with({{"chunk_bytes", "1001 B"}});
  SyntheticReader other = reader_with({{"chunk_bytes", "1001 B"}, {"seed", std::int64_t{2}}});
  const auto chunk5 = bytes_of(*first.produce(5));
  EXPECT_NE(bytes_of(*first.produce(6)), chunk5);
  EXPECT_EQ(bytes_of(*second.produce(5)), chunk5);
  EXPECT_NE(bytes_of(*other.produce(5)), chunk5);
}

TEST(SyntheticReader, RandomBytesAreSpreadEvenly) {
  SyntheticReader reader = reader_with({{"chunk_bytes", "1 MiB"}});
  const Chunk chunk = *reader.produce(0);
  std::vector<int> counts(256);
  for (const std::byte byte : chunk.bytes()) ++counts[std::to_integer<std::size_t>(byte)];
  EXPECT_THAT(counts, Each(testing::AllOf(testing::Ge(3600), testing::Le(4600))));  // 4096 expected, 7 sigma
}

TEST(SyntheticReader, RandomNumbersLieBetweenMinusOneAndOne) {
  for (const auto* const dtype : {"f32", "f64"}) {
    SyntheticReader reader = reader_with({{"dtype", dtype}, {"chunk_bytes", "80 kB"}});
    const Chunk chunk = *reader.produce(1);
    const auto values = chunk.dtype() == DType::f64 ? values_of<double>(chunk) : [&chunk] {
      const auto floats = values_of<float>(chunk);
      return std::vector<double>(floats.begin(), floats.end());
    }();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*low, -1.0);
    EXPECT_LT(*low, -0.99);
    EXPECT_LE(*high, 1.0);
    EXPECT_GT(*high, 0.99);
  }
}

TEST(SyntheticReader, ARampGoesOnThroughTheChunks) {
  SyntheticReader reader = reader_with({{"fill", "ramp"}, {"dtype", "i32"}, {"chunk_bytes", "12 B"}});
  EXPECT_THAT(values_of<std::int32_t>(*reader.produce(0)), ElementsAre(0, 1, 2));
  EXPECT_THAT(values_of<std::int32_t>(*reader.produce(2)), ElementsAre(6, 7, 8));
  SyntheticReader bytes = reader_with({{"fill", "ramp"}, {"chunk_bytes", "300 B"}});
  EXPECT_EQ(values_of<std::uint8_t>(*bytes.produce(0)).at(257), 1);
}

TEST(SyntheticReader, FillsEveryType) {
  for (const auto* const dtype : {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"}) {
    SyntheticReader zeros = reader_with({{"fill", "zeros"}, {"dtype", dtype}, {"chunk_bytes", "64 B"}});
    EXPECT_THAT(bytes_of(*zeros.produce(0)), Each(std::byte{0})) << dtype;
    SyntheticReader ramp = reader_with({{"fill", "ramp"}, {"dtype", dtype}, {"chunk_bytes", "64 B"}});
    EXPECT_NE(bytes_of(*ramp.produce(0)), bytes_of(*zeros.produce(0))) << dtype;
  }
}

TEST(SyntheticReader, PacedChunksNeverComeBeforeTheirTime) {
  SyntheticReader reader =
      reader_with({{"chunks", std::int64_t{5}}, {"chunk_bytes", "1 kB"}, {"rate", "1 MB"}, {"fill", "zeros"}});
  EXPECT_FALSE(reader.parallel());
  EXPECT_THAT(reader.plan_notes(), ElementsAre("5 chunks of 1000 B, 1 every 1.00 ms"));
  const std::int64_t start = monotonic_clock().now_ns();
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(reader.produce(i));
    EXPECT_GE(monotonic_clock().now_ns() - start, static_cast<std::int64_t>(i) * 1'000'000);
  }
}

TEST(SyntheticReader, BurstsComeAtTheTimeOfTheirFirstChunk) {
  SyntheticReader reader = reader_with({{"interval", "1 ms"}, {"burst", std::int64_t{4}}, {"chunk_bytes", "1 B"}});
  EXPECT_THAT(reader.plan_notes(), ElementsAre("1024 chunks of 1 B, 4 every 4.00 ms"));
  const std::int64_t start = monotonic_clock().now_ns();
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(reader.produce(i));
    EXPECT_GE(monotonic_clock().now_ns() - start, static_cast<std::int64_t>(i / 4 * 4) * 1'000'000);
  }
}

TEST(SyntheticReader, AStopEndsTheWaitAndTheStream) {
  SyntheticReader reader = reader_with({{"interval", "1 h"}, {"chunk_bytes", "1 B"}});
  ASSERT_TRUE(reader.produce(0));
  std::stop_source stop;
  stop.request_stop();
  call_context().stop = stop.get_token();
  EXPECT_FALSE(reader.produce(1));
  call_context().stop = {};
}

TEST(SyntheticReader, UnpacedItMayHaveSlots) { EXPECT_TRUE(reader_with({}).parallel()); }

TEST(SyntheticReader, BurnsCpuInTheReaderWhenTold) {
  SyntheticReader reader = reader_with({{"busy", "2 ms"}, {"fill", "zeros"}, {"chunk_bytes", "1 B"}});
  const std::int64_t before = monotonic_clock().thread_cpu_ns();
  reader.produce(0);
  EXPECT_GE(monotonic_clock().thread_cpu_ns() - before, 2'000'000);
}

TEST(SyntheticReader, RefusesWhatCannotBe) {
  using Values = std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>>;
  const auto refused = [](Values values) { return error_of([&] { reader_with(values); })->message(); };
  EXPECT_THAT(refused({{"fill", "noise"}}), HasSubstr("random, ramp or zeros"));
  EXPECT_THAT(refused({{"chunk_bytes", "0 B"}}), HasSubstr("'chunk_bytes' must be a whole number of u8"));
  EXPECT_THAT(refused({{"chunk_bytes", "7 B"}, {"dtype", "i16"}}), HasSubstr("whole number of i16"));
  EXPECT_THAT(refused({{"rate", "1 MB"}, {"interval", "1 s"}}), HasSubstr("not both"));
  EXPECT_THAT(refused({{"rate", "1 MB"}, {"burst", std::int64_t{0}}}), HasSubstr("at least 1"));
  EXPECT_THAT(refused({{"burst", std::int64_t{2}}}), HasSubstr("needs 'rate' or 'interval'"));
  EXPECT_THAT(refused({{"chunks", std::int64_t{1} << 62}}), HasSubstr("more than 2^64 bytes"));
  EXPECT_THAT(refused({{"chunks", std::int64_t{-1}}}), HasSubstr("must be between 0"));
}

}  // namespace
}  // namespace millrace
