#include "pipeline/replay/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/replay/recorded_report.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kMs = 1'000'000;

struct Tried {
  std::vector<std::string> changes;
  std::vector<std::string> refused;
};

Tried tried(const RunReport& report, Verdict verdict = {}) {
  const Calibration calibration = calibrate(report);
  if (verdict.kind == "none") verdict = calibration.replayed.verdict;
  Tried result;
  for (const Change& change : changes_to_try(calibration, verdict, result.refused))
    result.changes.push_back(text_of(change));
  return result;
}

TEST(Advice, AComputeBoundRunIsAdvisedSlotsAndNothingAboutInputAndOutput) {
  const Tried result = tried(test::recorded_report(300, 200'000, 4 * kMs, 200'000));
  EXPECT_THAT(result.changes, Contains("work.cpu=2x"));
  EXPECT_THAT(result.changes, Contains("work.slots=2"));
  EXPECT_THAT(result.changes, Each(Not(HasSubstr("read."))));
  EXPECT_THAT(result.changes, Each(Not(HasSubstr("write.wait"))));
  EXPECT_THAT(result.refused, Contains(HasSubstr("no advice on reading: 'work' starved for 'read' never")));
  EXPECT_THAT(result.refused, Contains(HasSubstr("no advice on writing: 'work' was blocked by 'write' never")));
}

TEST(Advice, AnIoBoundRunIsNotAdvisedThreadsAndSlots) {
  const Tried result = tried(test::recorded_report(300, 4 * kMs, kMs, 200'000));
  EXPECT_THAT(result.changes, Contains("read.wait=2x"));
  EXPECT_THAT(result.changes, Each(Not(HasSubstr("slots"))));
  EXPECT_THAT(result.changes, Each(Not(HasSubstr("threads"))));
  EXPECT_THAT(result.refused, Contains(HasSubstr("no advice on threads and slots: the run is I/O-bound at 'read'")));
}

TEST(Advice, NothingGoesAboveTheCoresOfTheMachine) {
  RunReport report = test::recorded_report(300, 200'000, 4 * kMs, 200'000);
  report.threads = 1;
  report.environment.cpus = 3;
  EXPECT_THAT(tried(report).changes, Contains("pipeline.threads=3"));
  EXPECT_THAT(tried(report).changes, Contains("work.slots=2"));
  report.environment.cpus = 1;
  EXPECT_THAT(tried(report).changes, Each(Not(HasSubstr("slots"))));
  EXPECT_THAT(tried(report).changes, Each(Not(HasSubstr("threads"))));
}

TEST(Advice, AStageThatIsNotParallelIsNotAdvisedSlots) {
  RunReport report = test::recorded_report(300, 200'000, 4 * kMs, 200'000);
  report.stages[1].record->parallel = false;
  EXPECT_THAT(tried(report).changes, Each(Not(HasSubstr("slots"))));
}

TEST(Advice, ASourceThatWaitsForItsInstrumentIsNotAdvised) {
  RunReport report = test::recorded_report(300, 4 * kMs, kMs, 200'000);
  for (auto& turn : report.stages[0].record->turns) std::swap(turn.io_ns, turn.other_ns);
  report.stages[0].busy = {0, 0, 0, 300 * 4 * kMs};
  const Tried result = tried(report);
  EXPECT_THAT(result.changes, Each(Not(HasSubstr("read."))));
  EXPECT_THAT(result.refused, Contains(HasSubstr("'read' waits for its instrument")));
  EXPECT_THAT(advise(calibrate(report), calibrate(report).replayed.verdict).worth, IsEmpty());
}

TEST(Advice, KeepsWhatPaysBestFirstAndPairsOnlyWhenTheyAddSomething) {
  // Twice as fast, 'work' is as fast as 'read'; only both together go on from there.
  RunReport report = test::recorded_report(400, 2 * kMs, 4 * kMs, 200'000);
  const Calibration calibration = calibrate(report);
  const Advice advice = advise(calibration, calibration.replayed.verdict);
  ASSERT_FALSE(advice.worth.empty());
  EXPECT_GE(advice.tried, advice.worth.size());
  double last = 1e9;
  for (const Prediction& prediction : advice.worth) {
    EXPECT_GE(prediction.gain, kWorthwhileGain);
    EXPECT_LE(prediction.gain, last);
    last = prediction.gain;
    if (prediction.changes.size() < 2) continue;
    for (const Change& part : prediction.changes)
      EXPECT_GE(prediction.gain, kWorthwhileGain * predict(calibration, {part}).gain) << text_of(prediction.changes);
  }
  const auto single = std::find_if(advice.worth.begin(), advice.worth.end(), [](const Prediction& prediction) {
    return text_of(prediction.changes) == "work.slots=2";
  });
  ASSERT_NE(single, advice.worth.end());
  EXPECT_NEAR(single->gain, 2, .03);
}

TEST(Advice, ABalancedRunWithoutAnythingToGainGetsNone) {
  RunReport report = test::recorded_report(400, 4 * kMs, kMs, 4 * kMs);
  report.stages[1].record->parallel = false;
  const Calibration calibration = calibrate(report);
  Verdict io;
  io.kind = "io-read";
  io.stage = "read";
  const Advice advice = advise(calibration, io);
  // Both ends take 4 ms: only both at once would pay, and that is a pair.
  for (const Prediction& prediction : advice.worth) EXPECT_EQ(prediction.changes.size(), 2U);
}

}  // namespace
}  // namespace millrace
