#include "io/timed.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"
#include "tests/support/scripted_io.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::ScriptedReader;
using test::ScriptedWriter;
using test::Written;

/// A call that lasts 1000 ns, of which the thread computes 300 and queues for a core 200; 500 are left for the device.
class Timed : public testing::Test {
 protected:
  void one_call() {
    clock_.advance_ns(1000);
    usage_.cpu_ns += 300;
    usage_.run_delay_ns += 200;
    clock_.set_usage(usage_);
  }
  std::int64_t waited() const { return call_context().tally.io_wait_ns; }

  void SetUp() override { call_context().tally = {}; }
  void TearDown() override { call_context().tally = {}; }

  ManualClock clock_;
  ThreadUsage usage_;
};

TEST_F(Timed, LargeReadsWaitForNeitherCpuNorRunQueue) {
  TimedReader reader(std::make_unique<ScriptedReader>(std::string(1 << 20, 'x'), [this](Extent) { one_call(); }),
                     clock_);
  reader.read({0, 1 << 20});
  EXPECT_EQ(waited(), 500);
  reader.read({0, 256 << 10});
  EXPECT_EQ(waited(), 1000);
}

TEST_F(Timed, SmallReadsLeaveTheRunQueueIn) {
  TimedReader reader(std::make_unique<ScriptedReader>(std::string(1000, 'x'), [this](Extent) { one_call(); }), clock_);
  reader.read({0, 1000});
  EXPECT_EQ(waited(), 700);
}

TEST_F(Timed, ACallThatOnlyComputesWaitsForNothing) {
  TimedReader reader(std::make_unique<ScriptedReader>("x",
                                                      [this](Extent) {
                                                        clock_.advance_ns(100);
                                                        usage_.cpu_ns += 130;  // the two clocks are not exact
                                                        clock_.set_usage(usage_);
                                                      }),
                     clock_);
  reader.read({0, 1});
  EXPECT_EQ(waited(), 0);
}

TEST_F(Timed, CountsTheTimeOfACallThatFails) {
  TimedReader reader(std::make_unique<ScriptedReader>("x",
                                                      [this](Extent) {
                                                        one_call();
                                                        throw Error("broken");
                                                      }),
                     clock_);
  EXPECT_THROW(reader.read({0, 1}), Error);
  EXPECT_EQ(waited(), 700);
}

TEST_F(Timed, WritesAndSyncsWaitAndSyncsHaveTheirOwnSum) {
  Written written;
  TimedWriter writer(std::make_unique<ScriptedWriter>(written, [this] { one_call(); }), clock_);
  writer.write(0, bytes_of("abc"));
  EXPECT_EQ(waited(), 700);
  EXPECT_EQ(writer.stats().fsync_ns, 0);
  writer.sync();
  writer.sync();
  EXPECT_EQ(waited(), 700 + 2 * 500);
  EXPECT_EQ(writer.stats().fsync_ns, 2000);
  EXPECT_EQ(writer.stats().fsync_calls, 2U);
  EXPECT_EQ(written.contents, "abc");
  EXPECT_EQ(written.syncs, 2);
}

TEST_F(Timed, ForwardsWhatTheInnerOneKnows) {
  TimedReader reader(std::make_unique<ScriptedReader>("abc"), clock_);
  EXPECT_EQ(reader.size(), 3U);
  EXPECT_EQ(reader.path(), "/scripted/input");
  EXPECT_EQ(reader.stats().transport_requested, "direct");
  Written written;
  TimedWriter writer(std::make_unique<ScriptedWriter>(written), clock_);
  EXPECT_EQ(writer.path(), "/scripted/output");
  EXPECT_EQ(writer.stats().transport_used, "scripted");
}

}  // namespace
}  // namespace millrace::io
