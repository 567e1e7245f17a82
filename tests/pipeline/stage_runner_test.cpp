#include "pipeline/stage_runner.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// A stage whose calls do what the test says to a clock that moves only when told.
class StageRunnerTest : public ::testing::Test {
 protected:
  /// One turn of one call; `block`: of the input's memory, null = the heap's.
  BusyTally turn(std::function<void()> work, BufferBlock* block = nullptr) {
    work_ = std::move(work);
    Firing firing;
    firing.kind = Firing::Kind::call;
    firing.count = 1;
    Buffer buffer = heap_lender().lend(8);
    if (block != nullptr) {
      ++block->users;  // the test's own use keeps it from being given back
      buffer = Buffer(block, 8);
    }
    firing.inputs.emplace_back(std::move(buffer), DType::u8);
    return runner_.run(firing, Sink::End::complete);
  }
  /// A call of so many milliseconds, of which so many were spent computing.
  void pass(std::int64_t wall_ms, std::int64_t cpu_ms, std::int64_t major_faults = 0, std::int64_t minor_faults = 0) {
    clock_.advance_ns(wall_ms * kMs);
    usage_.cpu_ns += cpu_ms * kMs;
    usage_.major_faults += major_faults;
    usage_.minor_faults += minor_faults;
    clock_.set_usage(usage_);
  }
  /// The split of a turn that is sampled: the runner samples once it has seen that turns are long.
  BusySplit split_of(const std::function<void()>& work, BufferBlock* block = nullptr) {
    turn([this] { pass(10, 10); });
    const BusyTally tally = turn(work, block);
    EXPECT_EQ(tally.samples, 1U);
    return split_busy(tally.wall_ns, tally);
  }

  ManualClock clock_;
  ThreadUsage usage_;
  std::function<void()> work_;
  millrace::testing::FunctionTransform stage_{[this](Chunk chunk) {
    work_();
    return std::optional(std::move(chunk));
  }};
  StageRunner runner_{stage_, Role::transform, nullptr, clock_, {}};
};

TEST_F(StageRunnerTest, SplitsACallByTheClocks) {
  const BusySplit split = split_of([this] {
    pass(10, 4);
    usage_.run_delay_ns += 2 * kMs;
    clock_.set_usage(usage_);
    call_context().tally.io_wait_ns += 3 * kMs;
  });
  EXPECT_EQ(split.on_cpu_ns, 4 * kMs);
  EXPECT_EQ(split.io_wait_ns, 3 * kMs);
  EXPECT_EQ(split.run_delay_ns, 2 * kMs);
  EXPECT_EQ(split.other_wait_ns, 1 * kMs);
}

TEST_F(StageRunnerTest, AnUnexplainedWaitWithMajorFaultsWasForTheDisk) {
  EXPECT_EQ(split_of([this] { pass(10, 4, 1); }).io_wait_ns, 6 * kMs);
}

TEST_F(StageRunnerTest, MinorFaultsExplainAWaitOnlyInTheMemoryOfAMappedFile) {
  const BusySplit own = split_of([this] { pass(10, 4, 0, 100); });
  EXPECT_EQ(own.io_wait_ns, 0);
  EXPECT_EQ(own.other_wait_ns, 6 * kMs);

  std::array<std::byte, 8> memory{};
  BufferBlock block;
  block.data = memory.data();
  block.capacity = memory.size();
  block.lender = &heap_lender();
  block.users = 1;
  block.read_only = true;
  EXPECT_EQ(split_of([this] { pass(10, 4, 0, 100); }, &block).io_wait_ns, 6 * kMs);
  EXPECT_EQ(split_of([this] { pass(10, 4); }, &block).io_wait_ns, 0) << "no page was touched for the first time";
}

TEST_F(StageRunnerTest, ACallThatWorkedOnALostPageFails) {
  LostPage page;
  std::snprintf(page.path.data(), page.path.size(), "/data/in.raw");
  page.offset = 4096;
  try {
    turn([&page] { call_context().tally.lost_page = &page; });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.path(), "/data/in.raw");
    EXPECT_EQ(error.offset(), 4096U);
  }
  turn([] {});  // the next call starts anew
}

TEST_F(StageRunnerTest, ShortTurnsAreSampledNowAndThen) {
  std::uint64_t samples = 0;
  for (int i = 0; i < 1000; ++i) {
    samples += turn([this] {
                 clock_.advance_ns(10'000);
                 usage_.cpu_ns += 10'000;
                 clock_.set_usage(usage_);
               }).samples;
  }
  EXPECT_GE(samples, 10U);
  EXPECT_LE(samples, 25U) << "two readings of the CPU clocks for 600 us of calls";
}

}  // namespace
}  // namespace millrace
