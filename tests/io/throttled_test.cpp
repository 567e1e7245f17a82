#include "io/throttled.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "pipeline/core/call_context.h"
#include "tests/support/scripted_io.h"

namespace millrace::io {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using test::ScriptedReader;
using test::ScriptedWriter;
using test::Written;

constexpr std::uint64_t kMegabyte = 1'000'000;

TEST(Throttle, IsActiveWhenItSlowsAnything) {
  EXPECT_FALSE((Throttle{0, 0ns}.active()));
  EXPECT_TRUE((Throttle{1, 0ns}.active()));
  EXPECT_TRUE((Throttle{0, 1ns}.active()));
}

TEST(ThrottledReader, TakesLatencyAndTheTimeOfItsBytes) {
  ManualClock clock;
  ThrottledReader reader(std::make_unique<ScriptedReader>(std::string(1000, 'x')), {kMegabyte, 2ms}, clock);
  EXPECT_EQ(reader.read({0, 1000}).size(), 1000U);
  EXPECT_EQ(clock.now_ns(), 3'000'000);  // 2 ms, and 1000 B at 1 MB/s
  reader.read({0, 0});
  EXPECT_EQ(clock.now_ns(), 5'000'000);
}

TEST(ThrottledReader, LatencyAloneAndRateAlone) {
  ManualClock clock;
  ThrottledReader late(std::make_unique<ScriptedReader>(std::string(1000, 'x')), {0, 7ms}, clock);
  late.read({0, 1000});
  EXPECT_EQ(clock.now_ns(), 7'000'000);
  ThrottledReader slow(std::make_unique<ScriptedReader>(std::string(1000, 'x')), {kMegabyte, 0ns}, clock);
  slow.read({0, 500});
  EXPECT_EQ(clock.now_ns(), 7'500'000);
}

TEST(ThrottledReader, TheDevicesOwnTimeCounts) {
  ManualClock clock;
  const auto device = [&clock](Extent) { clock.advance_ns(400'000); };
  ThrottledReader reader(std::make_unique<ScriptedReader>(std::string(1000, 'x'), device), {kMegabyte, 0ns}, clock);
  reader.read({0, 1000});
  EXPECT_EQ(clock.now_ns(), 1'000'000);
  reader.read({0, 100});  // the device alone takes longer than the throttle asks
  EXPECT_EQ(clock.now_ns(), 1'400'000);
}

TEST(ThrottledReader, TimeSpentElsewhereEarnsNothing) {
  ManualClock clock;
  ThrottledReader reader(std::make_unique<ScriptedReader>(std::string(1000, 'x')), {kMegabyte, 0ns}, clock);
  clock.advance_ns(50'000'000);
  reader.read({0, 1000});
  EXPECT_EQ(clock.now_ns(), 51'000'000);
}

TEST(ThrottledReader, AStopEndsTheSleepAtOnce) {
  ManualClock clock;
  std::stop_source stop;
  stop.request_stop();
  call_context().stop = stop.get_token();
  ThrottledReader reader(std::make_unique<ScriptedReader>("abc"), {0, 1h}, clock);
  EXPECT_EQ(test::text_of(reader.read({0, 3})), "abc");
  EXPECT_EQ(clock.now_ns(), 0);
  call_context().stop = {};
}

/// Sleeps 60 us too long, as a kernel timer does.
class CoarseClock final : public Clock {
 public:
  std::int64_t now_ns() override { return now_ns_; }
  ThreadUsage thread_usage() override { return {}; }
  std::int64_t thread_cpu_ns() override { return 0; }
  bool sleep_until(std::int64_t deadline_ns, const std::stop_token& /*stop*/) override {
    now_ns_ = deadline_ns + overshoot_ns_;
    return true;
  }
  void set_overshoot_ns(std::int64_t ns) { overshoot_ns_ = ns; }

 private:
  std::int64_t now_ns_ = 0;
  std::int64_t overshoot_ns_ = 60'000;
};

TEST(ThrottledReader, KeepsTheMeanRateOfShortCallsOnACoarseClock) {
  CoarseClock clock;
  ThrottledReader reader(std::make_unique<ScriptedReader>(std::string(64, 'x')), {kMegabyte, 0ns}, clock);
  for (int i = 0; i < 10'000; ++i) reader.read({0, 64});
  EXPECT_NEAR(static_cast<double>(clock.now_ns()), 640e6, 1e6);
}

TEST(ThrottledReader, DoesNotMakeUpForASuspendedMachine) {
  CoarseClock clock;
  clock.set_overshoot_ns(3'600'000'000'000);
  ThrottledReader reader(std::make_unique<ScriptedReader>(std::string(1000, 'x')), {kMegabyte, 0ns}, clock);
  reader.read({0, 1000});
  clock.set_overshoot_ns(0);
  const std::int64_t resumed = clock.now_ns();
  for (int i = 0; i < 100; ++i) reader.read({0, 1000});
  EXPECT_GE(clock.now_ns() - resumed, 50'000'000);
}

TEST(ThrottledWriter, SlowsWritesAndSyncs) {
  ManualClock clock;
  Written written;
  ThrottledWriter writer(std::make_unique<ScriptedWriter>(written), {kMegabyte, 1ms}, clock);
  writer.write(0, bytes_of(std::string(2000, 'x')));
  EXPECT_EQ(clock.now_ns(), 3'000'000);
  writer.sync();
  EXPECT_EQ(clock.now_ns(), 4'000'000);
  EXPECT_EQ(written.contents.size(), 2000U);
  EXPECT_EQ(written.syncs, 1);
  EXPECT_EQ(writer.path(), "/scripted/output");
  EXPECT_EQ(writer.stats().bytes, 2000U);
}

}  // namespace
}  // namespace millrace::io
