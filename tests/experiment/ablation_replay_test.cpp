#include "pipeline/experiment/ablation_replay.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <utility>
#include <vector>

#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

KeptCall call_giving(Recording& recording, std::uint64_t number, const Bytes8& bytes, std::int64_t ns = 0) {
  return {ns, recording.copy(number, test::chunk_of(bytes)), false};
}

/// Turn n gives one chunk {n, n} and lasts `service_ns`.
std::shared_ptr<Recording> recording_of(std::uint64_t turns, std::int64_t service_ns = 0) {
  auto recording = std::make_shared<Recording>(1 << 20);
  for (std::uint64_t n = 0; n < turns; ++n) {
    const auto byte = static_cast<std::uint8_t>(n);
    recording->add(n, {call_giving(*recording, n, {byte, byte}, service_ns)});
  }
  recording->seal();
  return recording;
}

Chunk input(std::uint64_t sequence) {
  Chunk chunk = test::chunk_of(Bytes8{77});
  chunk.set_sequence(sequence);
  return chunk;
}

TEST(ReplayedSource, GivesTheRecordedChunksUntilItsTotalFromTheFirstAgainAfterTheLast) {
  ReplayedSource source(recording_of(3), HandOut::shared, {false, 5, 10, {}});
  const Bytes8 expected{0, 1, 2, 0, 1};
  for (std::uint64_t index = 0; index < 5; ++index) {
    const auto chunk = source.produce(index);
    ASSERT_TRUE(chunk);
    EXPECT_EQ(test::values_of<std::uint8_t>(*chunk), (Bytes8{expected[index], expected[index]}));
  }
  EXPECT_FALSE(source.produce(5));
  EXPECT_EQ(source.total_chunks(), 5U);
  EXPECT_EQ(source.total_bytes(), 10U);
}

TEST(ReplayedSource, WithoutATotalGoesOn) {
  ReplayedSource source(recording_of(3), HandOut::shared, {});
  EXPECT_TRUE(source.produce(1'000'000'000));
}

TEST(ReplayedSource, OfNothingGivesNothing) {
  ReplayedSource source(recording_of(0), HandOut::shared, {false, 5, {}, {}});
  EXPECT_FALSE(source.produce(0));
}

TEST(ReplayedSource, SharesItsMemoryAndNobodyMayWriteIt) {
  const auto recording = recording_of(1);
  ReplayedSource source(recording, HandOut::shared, {});
  call_context().tally = {};
  auto chunk = source.produce(0);
  EXPECT_EQ(chunk->bytes().data(), recording->turn(0).front().output->bytes().data());
  EXPECT_EQ(call_context().tally.copied_bytes, 0U);
  EXPECT_FALSE(chunk->buffer().unique());
  chunk->samples<std::uint8_t>()[0] = 99;  // a stage that works in place: it gets a copy, and that is counted
  EXPECT_EQ(call_context().tally.copied_bytes, 2U);
  EXPECT_EQ(source.produce(0)->bytes().front(), std::byte{0});
}

TEST(ReplayedSource, LoansAreCountedCopiesThatMayBeWritten) {
  test::RecyclingLender lender;
  const test::LendFrom here(lender);
  ReplayedSource source(recording_of(1), HandOut::loaned, {});
  call_context().tally = {};
  auto chunk = source.produce(0);
  EXPECT_TRUE(chunk->buffer().unique());
  EXPECT_EQ(chunk->buffer().block()->lender, &lender);
  EXPECT_EQ(call_context().tally.copied_bytes, 2U);
  chunk->samples<std::uint8_t>()[0] = 99;
  EXPECT_EQ(source.produce(0)->bytes().front(), std::byte{0});
}

class Replay : public ::testing::Test {
 protected:
  ManualClock clock_;
};

TEST_F(Replay, ATransformGivesWhatWasGivenForTheSameNumber) {
  ReplayedTransform transform(recording_of(4), {}, clock_);
  for (const std::uint64_t number : {2U, 0U, 3U, 1U, 6U}) {
    const auto chunk = transform.process(input(number));
    ASSERT_TRUE(chunk);
    EXPECT_EQ(static_cast<std::uint64_t>(chunk->bytes().front()), number % 4);
  }
  EXPECT_FALSE(transform.finish());
  EXPECT_EQ(clock_.now_ns(), 0) << "it takes no time";
}

TEST_F(Replay, SlotsWithoutSequencesShareTheirNumbers) {
  ReplayedTransform::Shape shape;
  shape.numbers = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto recording = recording_of(4);
  ReplayedTransform one(recording, shape, clock_);
  ReplayedTransform two(recording, shape, clock_);
  EXPECT_EQ(one.process(input(0))->bytes().front(), std::byte{0});
  EXPECT_EQ(two.process(input(0))->bytes().front(), std::byte{1});
  EXPECT_EQ(one.process(input(0))->bytes().front(), std::byte{2});
}

TEST_F(Replay, PassesOnWhatWasPassedOn) {
  const auto recording = std::make_shared<Recording>(1 << 20);
  recording->add(0, {{0, Chunk(), true}});
  recording->seal();
  ReplayedTransform transform(recording, {}, clock_);
  Chunk chunk = input(5);
  const std::byte* const bytes = chunk.bytes().data();
  EXPECT_EQ(transform.process(std::move(chunk))->bytes().data(), bytes);
}

TEST_F(Replay, SplitsAndFinishesAsRecorded) {
  const auto recording = std::make_shared<Recording>(1 << 20);
  KeptTurn turn;
  turn.push_back(call_giving(*recording, 0, {1}));
  turn.push_back(call_giving(*recording, 0, {2}));
  turn.emplace_back();
  recording->add(0, std::move(turn));
  recording->add_finish(1, {0, recording->copy_at_finish(test::chunk_of(Bytes8{9})), false});
  recording->add_finish(1, {});
  recording->seal();
  ReplayedTransform::Shape shape;
  shape.splits = true;
  shape.slot = 1;
  ReplayedTransform transform(recording, shape, clock_);
  std::vector<Chunk> inputs;
  inputs.push_back(input(0));
  inputs.push_back(input(1));
  Bytes8 got;
  for (const Chunk& chunk : test::drive(transform, std::move(inputs))) {
    got.push_back(static_cast<std::uint8_t>(chunk.bytes().front()));
  }
  EXPECT_EQ(got, (Bytes8{1, 2, 1, 2, 9}));

  shape.slot = 0;
  ReplayedTransform other(recording, shape, clock_);
  EXPECT_FALSE(other.finish()) << "that slot gave nothing at its end";
}

TEST_F(Replay, WaitsAsLongAsTheCallsLastedInTheSum) {
  ReplayedTransform::Shape shape;
  shape.waits = true;
  ReplayedTransform transform(recording_of(4, 30'000), shape, clock_);
  for (std::uint64_t number = 0; number < 100; ++number) transform.process(input(number));
  // Short waits are saved up: less than one sleep is owed at the end.
  EXPECT_LE(clock_.now_ns(), 3'000'000);
  EXPECT_GT(clock_.now_ns(), 3'000'000 - 200'000);
}

/// Sleeps longer than it is asked to, as a kernel does.
class LateClock final : public Clock {
 public:
  std::int64_t now_ns() override { return clock_.now_ns(); }
  ThreadUsage thread_usage() override { return {}; }
  std::int64_t thread_cpu_ns() override { return 0; }
  bool sleep_until(std::int64_t deadline_ns, const std::stop_token& stop) override {
    return clock_.sleep_until(deadline_ns + 70'000, stop);
  }

 private:
  ManualClock clock_;
};

TEST(Waiting, TakesWhatASleepLastedTooLongOffTheNext) {
  LateClock clock;
  Waiting waiting(clock);
  for (int i = 0; i < 100; ++i) waiting.wait(300'000);
  EXPECT_GT(clock.now_ns(), 30'000'000 - 200'000);
  EXPECT_LE(clock.now_ns(), 30'000'000 + 70'000);
}

TEST(Waiting, EndsWhenTheRunIsStopped) {
  ManualClock clock;
  Waiting waiting(clock);
  std::stop_source stop;
  stop.request_stop();
  call_context().stop = stop.get_token();
  waiting.wait(1'000'000'000);
  call_context().stop = {};
  EXPECT_EQ(clock.now_ns(), 0);
}

TEST(ForgettingSink, TakesEverythingAndPublishesNothing) {
  ForgettingSink sink(true);
  sink.consume(input(0));
  sink.finish(Sink::End::complete);
  EXPECT_TRUE(sink.parallel());
  EXPECT_TRUE(sink.outputs().empty());
}

}  // namespace
}  // namespace millrace
