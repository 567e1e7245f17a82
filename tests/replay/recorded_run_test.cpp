#include "pipeline/replay/recorded_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "pipeline/core/error.h"
#include "tests/replay/recorded_report.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Turn = StageRecord::Turn;
using Kind = StageRecord::Kind;

std::string refusal(const std::function<void(RunReport&)>& spoil) {
  RunReport report = test::recorded_report(5, 1'000, 2'000, 3'000);
  spoil(report);
  try {
    recorded_run(report);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(RecordedRun, HasTheShapeAndTheCallsOfTheRun) {
  const RecordedRun run = recorded_run(test::recorded_report(5, 1'000, 2'000, 3'000));
  EXPECT_EQ(run.threads, 2U);
  EXPECT_EQ(run.cores, 2U);
  ASSERT_EQ(run.stages.size(), 3U);
  ASSERT_EQ(run.links.size(), 2U);
  EXPECT_EQ(run.links[1].from, 1U);
  EXPECT_EQ(run.links[1].to, 2U);
  EXPECT_EQ(run.links[1].max_chunk_bytes, 1000U);
  EXPECT_EQ(run.stages[1].calls->groups(), 5U);
  EXPECT_EQ(run.stages[1].calls->call(3, 0).cpu_ns, 2'000);
  EXPECT_TRUE(run.stages[1].calls->call(3, 0).gives);
  EXPECT_FALSE(run.stages[2].calls->call(3, 0).gives);
  EXPECT_TRUE(run.stages[1].parallel);
}

TEST(RecordedRun, ATurnOfManyCallsIsDividedAmongThem) {
  RunReport report = test::recorded_report(1, 1'000, 2'000, 3'000);
  report.stages[1].record->turns = {Turn{Kind::call, 4, 2, 500, 0, 4'000, 400, 40}};
  const RecordedRun run = recorded_run(report);
  const CallScript& calls = *run.stages[1].calls;
  ASSERT_EQ(calls.groups(), 4U);
  EXPECT_EQ(calls.call(0, 0).cpu_ns, 1'000);
  EXPECT_EQ(calls.call(0, 0).io_ns, 100);
  EXPECT_EQ(calls.call(1, 0).bytes_out, 250U);
  EXPECT_FALSE(calls.call(2, 0).gives);
}

TEST(RecordedRun, WaitingForAChildThatComputesIsToldFromWaiting) {
  RunReport report = test::recorded_report(4, 1'000, 2'000, 3'000);
  StageReport& work = report.stages[1];
  for (auto& turn : work.record->turns) turn.other_ns = turn.cpu_ns;
  work.busy.other_wait_ns = 8'000;
  work.child_cpu_ns = 2'000;
  work.own_threads = true;
  RecordedRun run = recorded_run(report);
  EXPECT_TRUE(run.stages[1].own_threads);
  EXPECT_EQ(run.stages[1].calls->call(0, 0).child_ns, 500);
  EXPECT_EQ(run.stages[1].calls->call(0, 0).other_ns, 1'500);
  work.child_cpu_ns = 50'000;  // several cores at a time count as one
  run = recorded_run(report);
  EXPECT_EQ(run.stages[1].calls->call(0, 0).child_ns, 2'000);
  EXPECT_EQ(run.stages[1].calls->call(0, 0).other_ns, 0);
}

TEST(RecordedRun, MoreBelongsToItsCallAndFinishToItsSlot) {
  RunReport report = test::recorded_report(1, 1'000, 2'000, 3'000);
  StageRecord& record = *report.stages[1].record;
  record.splits = true;
  record.turns = {Turn{Kind::call, 1, 1, 9, 0, 10, 0, 0},   Turn{Kind::more, 1, 0, 0, 0, 20, 0, 0},
                  Turn{Kind::call, 1, 0, 0, 0, 30, 0, 0},   Turn{Kind::finish, 1, 1, 9, 0, 40, 0, 0},
                  Turn{Kind::finish, 1, 0, 0, 0, 50, 0, 0}, Turn{Kind::finish, 1, 0, 0, 0, 60, 0, 0}};
  record.turns_made = 6;
  const RecordedRun run = recorded_run(report);
  const CallScript& calls = *run.stages[1].calls;
  const CallScript& finishes = *run.stages[1].finishes;
  ASSERT_EQ(calls.groups(), 2U);
  EXPECT_EQ(calls.size(0), 2U);
  EXPECT_EQ(calls.call(0, 1).cpu_ns, 20);
  EXPECT_EQ(calls.size(1), 1U);
  ASSERT_EQ(finishes.groups(), 2U);
  EXPECT_EQ(finishes.size(0), 2U);
  EXPECT_EQ(finishes.call(1, 0).cpu_ns, 60);
}

TEST(RecordedRun, ASourceThatSleepsAndIsNotHeldUpKeepsAPace) {
  RunReport report = test::recorded_report(3, 1'000, 2'000, 3'000);
  for (Turn& turn : report.stages[0].record->turns) std::swap(turn.io_ns, turn.other_ns);
  report.stages[0].busy = {0, 0, 0, 3'000};
  RecordedRun run = recorded_run(report);
  EXPECT_TRUE(run.stages[0].paced);
  EXPECT_EQ(run.stages[0].calls->call(2, 0).not_before_ns, 3'000);
  report.stages[0].time.blocked_ns = 2'000;
  run = recorded_run(report);
  EXPECT_FALSE(run.stages[0].paced);
  EXPECT_EQ(run.stages[0].calls->call(2, 0).not_before_ns, -1);
}

TEST(RecordedRun, WakingAWorkerTakesAsLongForEveryStage) {
  RunReport report = test::recorded_report(3, 1'000, 2'000, 3'000);
  report.stages[0].record->wake_ns = 70;
  RecordedRun run = recorded_run(report);
  EXPECT_EQ(run.stages[0].wake_ns, 70);
  EXPECT_EQ(run.stages[1].wake_ns, 70) << "no worker ever slept";
  EXPECT_EQ(run.stages[2].wake_ns, 70);
  report.stages[1].record->wake_ns = 50;
  run = recorded_run(report);
  EXPECT_EQ(run.stages[1].wake_ns, 50);
  EXPECT_EQ(run.stages[2].wake_ns, 70);
}

TEST(RecordedRun, WhatCannotBeReplayedIsRefusedWithTheReason) {
  EXPECT_EQ(refusal([](RunReport&) {}), "");
  EXPECT_THAT(refusal([](RunReport& report) { report.stages[1].record.reset(); }), HasSubstr("run it with --record"));
  EXPECT_THAT(refusal([](RunReport& report) { report.status = "failed"; }), HasSubstr("ended as 'failed'"));
  EXPECT_THAT(refusal([](RunReport& report) { report.stages[0].record->turns.clear(); }),
              HasSubstr("nothing is recorded"));
  EXPECT_THAT(refusal([](RunReport& report) {
                report.stages.clear();
                report.links.clear();
              }),
              HasSubstr("no stages"));
  EXPECT_THAT(refusal([](RunReport& report) { report.stages[1].slots = 100'000; }), HasSubstr("too many slots"));
  EXPECT_THAT(refusal([](RunReport& report) { report.threads = 100'000; }), HasSubstr("too many threads"));
  EXPECT_THAT(refusal([](RunReport& report) { report.links[0].capacity_chunks = 1ULL << 40; }), HasSubstr("bounds"));
  EXPECT_THAT(refusal([](RunReport& report) { report.links[0].capacity_bytes = 0; }), HasSubstr("bounds"));
  EXPECT_THAT(refusal([](RunReport& report) { std::swap(report.links[0].from, report.links[0].to); }),
              HasSubstr("does not follow"));
  EXPECT_THAT(refusal([](RunReport& report) { report.links.pop_back(); }), HasSubstr("do not fit"));
  EXPECT_THAT(refusal([](RunReport& report) { report.stages[1].record->inputs.clear(); }), HasSubstr("more links"));
  EXPECT_THAT(refusal([](RunReport& report) { report.stages[1].record->turns[0].kind = Kind::more; }),
              HasSubstr("more() without"));
  EXPECT_THAT(refusal([](RunReport& report) {
                for (Turn& turn : report.stages[1].record->turns) turn.cpu_ns = 9'000'000'000'000'000;
              }),
              HasSubstr("times make no sense"));
}

TEST(RecordedRun, ItsRateIsThatOfTheSources) {
  RunReport report = test::recorded_report(5, 1'000, 2'000, 3'000);
  report.wall_ns = 2'000'000'000;
  EXPECT_EQ(chunk_rate(report), 2.5);
  report.wall_ns = 0;
  EXPECT_EQ(chunk_rate(report), 0);
}

}  // namespace
}  // namespace millrace
