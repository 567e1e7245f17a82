#include "pipeline/core/clock.h"

#include <gtest/gtest.h>

#include <limits>
#include <stop_token>
#include <thread>

namespace millrace {
namespace {

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock;
  EXPECT_EQ(clock.now_ns(), 0);
  EXPECT_EQ(clock.now_ns(), 0);
  clock.advance_ns(250);
  EXPECT_EQ(clock.now_ns(), 250);
}

TEST(ManualClock, SleepJumpsToTheDeadlineAndNeverBack) {
  ManualClock clock;
  EXPECT_TRUE(clock.sleep_until(1000, {}));
  EXPECT_EQ(clock.now_ns(), 1000);
  EXPECT_TRUE(clock.sleep_until(400, {}));
  EXPECT_EQ(clock.now_ns(), 1000);
}

TEST(ManualClock, StoppedSleepDoesNotMoveTheClock) {
  ManualClock clock;
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(clock.sleep_until(1000, source.get_token()));
  EXPECT_EQ(clock.now_ns(), 0);
}

TEST(ManualClock, UsageIsWhatWasSet) {
  ManualClock clock;
  clock.set_usage({.cpu_ns = 5, .run_delay_ns = 6, .major_faults = 7});
  EXPECT_EQ(clock.thread_cpu_ns(), 5);
  EXPECT_EQ(clock.thread_usage().run_delay_ns, 6);
  EXPECT_EQ(clock.thread_usage().major_faults, 7);
}

TEST(MonotonicClock, NeverGoesBack) {
  Clock& clock = monotonic_clock();
  std::int64_t last = clock.now_ns();
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t now = clock.now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(MonotonicClock, LaterOnAnotherThreadIsLater) {
  Clock& clock = monotonic_clock();
  for (int i = 0; i < 100; ++i) {
    const std::int64_t before = clock.now_ns();
    std::int64_t there = 0;
    std::jthread([&] { there = clock.now_ns(); }).join();
    ASSERT_GE(there, before);
    ASSERT_GE(clock.now_ns(), there);
  }
}

TEST(MonotonicClock, CpuTimeOfAThreadGrowsWithItsWorkAndIsItsOwn) {
  Clock& clock = monotonic_clock();
  const std::int64_t before = clock.thread_cpu_ns();
  while (clock.thread_cpu_ns() < before + 2'000'000) {
  }
  std::int64_t fresh = std::numeric_limits<std::int64_t>::max();
  std::jthread([&] { fresh = clock.thread_cpu_ns(); }).join();
  EXPECT_LT(fresh, clock.thread_cpu_ns());
}

TEST(MonotonicClock, UsageOfAThreadAgreesWithItsCpuClock) {
  Clock& clock = monotonic_clock();
  const std::int64_t before = clock.thread_cpu_ns();
  const ThreadUsage usage = clock.thread_usage();
  EXPECT_GE(usage.cpu_ns, before);
  EXPECT_LE(usage.cpu_ns, clock.thread_cpu_ns());
  EXPECT_GE(usage.run_delay_ns, 0);
  EXPECT_GE(usage.major_faults, 0);
}

TEST(MonotonicClock, SleepReachesItsDeadline) {
  Clock& clock = monotonic_clock();
  const std::int64_t deadline = clock.now_ns() + 1'000'000;
  EXPECT_TRUE(clock.sleep_until(deadline, {}));
  EXPECT_GE(clock.now_ns(), deadline);
  EXPECT_TRUE(clock.sleep_until(deadline, {})) << "a deadline that is over is reached at once";
}

TEST(MonotonicClock, StopWakesASleeper) {
  Clock& clock = monotonic_clock();
  const std::int64_t never = clock.now_ns() + 3'600'000'000'000;
  bool reached = true;
  std::jthread sleeper([&](const std::stop_token& stop) { reached = clock.sleep_until(never, stop); });
  sleeper.request_stop();
  sleeper.join();
  EXPECT_FALSE(reached);
}

}  // namespace
}  // namespace millrace
