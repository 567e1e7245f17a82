#include "pipeline/turn_recorder.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Kind = StageRecord::Kind;
using Turn = StageRecord::Turn;

Firing firing(std::uint64_t ticket, Firing::Kind kind = Firing::Kind::call, std::vector<std::uint64_t> bytes = {}) {
  Firing result;
  result.ticket = ticket;
  result.kind = kind;
  result.count = 1;
  result.output_bytes = std::move(bytes);
  return result;
}

BusyTally tally(std::int64_t wall_ns, std::int64_t io_ns = 0) {
  BusyTally result;
  result.wall_ns = wall_ns;
  result.io_wait_ns = io_ns;
  result.turns = 1;
  result.calls = 1;
  return result;
}

BusyTally sampled(std::int64_t wall_ns, std::int64_t io_ns, std::int64_t cpu_ns, std::int64_t delay_ns) {
  BusyTally result = tally(wall_ns, io_ns);
  result.samples = 1;
  result.sampled_calls = 1;
  result.sampled_wall_ns = wall_ns;
  result.sampled_io_wait_ns = io_ns;
  result.sampled_cpu_ns = cpu_ns;
  result.sampled_delay_ns = delay_ns;
  return result;
}

TEST(TurnRecorder, ATurnIsItsPartsWithoutTheWaitForACore) {
  TurnRecorder recorder(1'000);
  const BusyTally turn = sampled(100, 20, 50, 10);
  recorder.add(firing(0, Firing::Kind::call, {8, 9}), turn, 1'990, 2'100);
  const StageRecord record = recorder.record(turn);
  ASSERT_EQ(record.turns.size(), 1U);
  EXPECT_EQ(record.turns[0], (Turn{Kind::call, 1, 2, 17, 1'000, 50, 20, 20}));
  EXPECT_EQ(record.turns_made, 1U);
  EXPECT_EQ(record.hand_over_ns, 10);
}

TEST(TurnRecorder, TurnsThatWereNotSampledAreDividedLikeTheOthers) {
  TurnRecorder recorder(0);
  BusyTally all;
  for (int i = 0; i < 2; ++i) {
    const BusyTally turn = i == 0 ? sampled(120, 20, 50, 25) : tally(220, 20);
    recorder.add(firing(static_cast<std::uint64_t>(i)), turn, 0, 1'000);
    all.add(turn);
  }
  const StageRecord record = recorder.record(all);
  EXPECT_EQ(record.turns[1].io_ns, 20);
  EXPECT_NEAR(static_cast<double>(record.turns[1].cpu_ns), 100, 1);
  EXPECT_NEAR(static_cast<double>(record.turns[1].other_ns), 50, 1);
}

TEST(TurnRecorder, TheOrderIsThatOfTheInputNotThatOfTheEnds) {
  TurnRecorder recorder(0);
  recorder.add(firing(1), tally(10), 0, 100);
  recorder.add(firing(0), tally(20), 0, 200);
  recorder.add(firing(0, Firing::Kind::more), tally(30), 0, 300);
  recorder.add(firing(2, Firing::Kind::finish), tally(40), 0, 400);
  const StageRecord record = recorder.record(tally(100));
  ASSERT_EQ(record.turns.size(), 4U);
  EXPECT_EQ(record.turns[0].cpu_ns, 20);
  EXPECT_EQ(record.turns[1].kind, Kind::more);
  EXPECT_EQ(record.turns[2].cpu_ns, 10);
  EXPECT_EQ(record.turns[3].kind, Kind::finish);
}

TEST(TurnRecorder, KeepsTheFirstTurnsAndTheEnd) {
  TurnRecorder recorder(0);
  for (std::uint64_t k = 0; k < StageRecord::kMaxTurns + 10; ++k) recorder.add(firing(k), tally(1), 0, 1);
  recorder.add(firing(StageRecord::kMaxTurns + 10, Firing::Kind::finish), tally(7), 0, 7);
  const StageRecord record = recorder.record(tally(1));
  EXPECT_EQ(record.turns.size(), StageRecord::kMaxTurns + 1);
  EXPECT_EQ(record.turns.back().kind, Kind::finish);
  EXPECT_EQ(record.turns_made, StageRecord::kMaxTurns + 11);
  EXPECT_TRUE(record.cut());
}

TEST(TurnRecorder, WakesAreGivenByTheirMean) {
  TurnRecorder recorder(0);
  EXPECT_EQ(recorder.record({}).wake_ns, 0);
  for (const std::int64_t ns : {10, 20, 60}) recorder.add_wake(ns);
  EXPECT_EQ(recorder.record({}).wake_ns, 30);
  EXPECT_FALSE(recorder.record({}).cut());
}

}  // namespace
}  // namespace millrace
