#include "stages/spin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/core/clock.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using test::chunk_of;
using test::error_of;
using test::options_of;
using testing::HasSubstr;

TEST(Spin, HandsTheChunkOnUntouched) {
  Spin spin(options_of({}));
  const ChunkType type{DType::i16, "signal", 100};
  EXPECT_EQ(spin.prepare(type).text(), type.text());
  Chunk chunk = chunk_of(std::vector<std::int16_t>{1, 2, 3});
  const std::byte* const data = chunk.bytes().data();
  const auto result = spin.process(std::move(chunk));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->bytes().data(), data);
}

TEST(Spin, BusyIsCpuTime) {
  Spin spin(options_of({{"busy", "2 ms"}}));
  const std::int64_t before = monotonic_clock().thread_cpu_ns();
  spin.process(chunk_of(std::vector<std::uint8_t>{1}));
  EXPECT_GE(monotonic_clock().thread_cpu_ns() - before, 2'000'000);
}

TEST(Spin, SleepIsTimeOffTheCpu) {
  Spin spin(options_of({{"sleep", "3 ms"}}));
  const std::int64_t wall_before = monotonic_clock().now_ns();
  const std::int64_t cpu_before = monotonic_clock().thread_cpu_ns();
  spin.process(chunk_of(std::vector<std::uint8_t>{1}));
  const std::int64_t wall = monotonic_clock().now_ns() - wall_before;
  EXPECT_GE(wall, 3'000'000);
  EXPECT_LT(monotonic_clock().thread_cpu_ns() - cpu_before, wall);
}

TEST(Spin, AStopEndsTheCallAtOnce) {
  Spin spin(options_of({{"busy", "1 h"}, {"sleep", "1 h"}}));
  std::stop_source stop;
  stop.request_stop();
  call_context().stop = stop.get_token();
  EXPECT_TRUE(spin.process(chunk_of(std::vector<std::uint8_t>{1})));
  call_context().stop = {};
}

TEST(Spin, EverySoManyChunksOneTakesLonger) {
  const Spin spin(options_of({{"busy", "1 ms"},
                              {"sleep", "2 ms"},
                              {"burst_every", std::int64_t{4}},
                              {"burst_busy", "20 ms"},
                              {"burst_sleep", "30 ms"}}));
  for (std::uint64_t i = 0; i < 12; ++i) {
    const bool burst = i % 4 == 3;
    EXPECT_EQ(spin.service(i).busy, burst ? 21ms : 1ms);
    EXPECT_EQ(spin.service(i).sleep, burst ? 32ms : 2ms);
  }
}

TEST(Spin, JitterSpreadsAroundTheMeanAndIsTheSameInEveryRun) {
  const Spin spin(options_of({{"busy", "1 ms"}, {"jitter", 0.5}}));
  const Spin again(options_of({{"busy", "1 ms"}, {"jitter", 0.5}}));
  const Spin other(options_of({{"busy", "1 ms"}, {"jitter", 0.5}, {"seed", std::int64_t{2}}}));
  constexpr std::uint64_t kChunks = 10'000;
  double sum = 0;
  double least = 2e6;
  double most = 0;
  std::uint64_t different = 0;
  for (std::uint64_t i = 0; i < kChunks; ++i) {
    const auto ns = static_cast<double>(spin.service(i).busy.count());
    EXPECT_EQ(spin.service(i).busy, again.service(i).busy);
    different += spin.service(i).busy != other.service(i).busy ? 1 : 0;
    sum += ns;
    least = std::min(least, ns);
    most = std::max(most, ns);
  }
  EXPECT_NEAR(sum / kChunks, 1e6, 2e4);
  EXPECT_GE(least, 0.5e6);
  EXPECT_LT(least, 0.51e6);
  EXPECT_LE(most, 1.5e6);
  EXPECT_GT(most, 1.49e6);
  EXPECT_GT(different, kChunks * 9 / 10);
}

TEST(Spin, TheLawsOfASpreadHaveTheMeanAndTheTailThatTheyPromise) {
  constexpr std::uint64_t kChunks = 100'000;
  struct Law {
    const char* spread;
    double above_twice;  ///< share of chunks that take more than two means
    double above_ten;
  };
  // Exponential: e^-2 and e^-10. Pareto of exponent 2.5 from 0.6 means on: (0.6 / x)^2.5.
  for (const Law& law : {Law{"exponential", 0.1353, 0.00005}, Law{"heavy", 0.0493, 0.00088}}) {
    const Spin spin(options_of({{"sleep", "1 ms"}, {"spread", law.spread}}));
    double sum = 0;
    double above_twice = 0;
    double above_ten = 0;
    for (std::uint64_t i = 0; i < kChunks; ++i) {
      const auto means = static_cast<double>(spin.service(i).sleep.count()) / 1e6;
      EXPECT_LE(means, 20);
      sum += means;
      above_twice += means > 2 ? 1 : 0;
      above_ten += means > 10 ? 1 : 0;
    }
    EXPECT_NEAR(sum / kChunks, 1, .02) << law.spread;
    EXPECT_NEAR(above_twice / kChunks, law.above_twice, .005) << law.spread;
    EXPECT_NEAR(above_ten / kChunks, law.above_ten, .0003) << law.spread;
  }
}

TEST(Spin, RefusesWhatCannotBe) {
  EXPECT_THAT(error_of([] {
                Spin(options_of({{"spread", "wide"}}));
              })->message(),
              HasSubstr("even, exponential or heavy"));
  EXPECT_THAT(error_of([] {
                Spin(options_of({{"spread", "heavy"}, {"jitter", 0.5}}));
              })->message(),
              HasSubstr("spread = even"));
  EXPECT_THAT(error_of([] { Spin(options_of({{"jitter", 1.5}})); })->message(), HasSubstr("between 0 and 1"));
  EXPECT_THAT(error_of([] {
                Spin(options_of({{"burst_busy", "1 ms"}}));
              })->message(),
              HasSubstr("'burst_busy' needs 'burst_every'"));
  EXPECT_THAT(error_of([] {
                Spin(options_of({{"busy", std::int64_t{3}}}));
              })->message(),
              HasSubstr("a time with its unit"));
}

}  // namespace
}  // namespace millrace
