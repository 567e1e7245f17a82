#include "stages/burn_cpu.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>

#include "pipeline/core/clock.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

TEST(BurnCpu, UsesTheTimeItIsTold) {
  for (const Duration amount : {Duration(60us), Duration(1ms), Duration(3500us)}) {
    const std::int64_t before = monotonic_clock().thread_cpu_ns();
    burn_cpu(amount, {});
    EXPECT_GE(monotonic_clock().thread_cpu_ns() - before, amount.count());
  }
}

TEST(BurnCpu, ShortAmountsLastAtLeastThatLong) {
  const std::int64_t before = monotonic_clock().now_ns();
  burn_cpu(5us, {});
  EXPECT_GE(monotonic_clock().now_ns() - before, 5'000);
}

TEST(BurnCpu, StopsWhenTold) {
  std::stop_source stop;
  stop.request_stop();
  const std::int64_t before = monotonic_clock().thread_cpu_ns();
  burn_cpu(1h, stop.get_token());
  EXPECT_LT(monotonic_clock().thread_cpu_ns() - before, Duration(1h).count());
}

TEST(BurnCpu, NothingIsNothing) {
  burn_cpu(0ns, {});
  burn_cpu(-1ns, {});
}

}  // namespace
}  // namespace millrace
