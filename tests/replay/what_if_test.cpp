#include "pipeline/replay/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pipeline/complete_report.h"
#include "pipeline/config.h"
#include "pipeline/core/error.h"
#include "pipeline/core/registry.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "pipeline/verdict.h"
#include "stages/builtin.h"
#include "tests/replay/recorded_report.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

TEST(WhatIf, TheReplayWithNothingChangedIsMeasuredAgainstTheRun) {
  RunReport report = test::recorded_report(100, kMs, 4 * kMs, kMs);
  report.wall_ns = 402 * kMs;
  const Calibration exact = calibrate(report);
  EXPECT_NEAR(exact.error(), 0, .001);
  EXPECT_TRUE(exact.trusted());
  report.wall_ns = 500 * kMs;
  EXPECT_NEAR(calibrate(report).error(), .24, .01);
  EXPECT_FALSE(calibrate(report).trusted());
  report.wall_ns = 300 * kMs;
  EXPECT_FALSE(calibrate(report).trusted());
}

TEST(WhatIf, WhatOtherProcessesTookIsReplayedWithTheTurnsThatTheyHeldUp) {
  RunReport report = test::recorded_report(100, kMs, 4 * kMs, kMs);
  report.wall_ns = 502 * kMs;
  report.stages[1].busy.run_delay_ns = 100 * kMs;
  report.stages[1].time.busy_ns += 100 * kMs;
  const Calibration calibration = calibrate(report);
  EXPECT_NEAR(calibration.run.stages[1].delay_ns, 1e6, 1e4);
  EXPECT_NEAR(calibration.error(), 0, .01);
}

TEST(WhatIf, PredictsTheGainAndNamesTheNextBottleneck) {
  RunReport report = test::recorded_report(400, 2 * kMs, 4 * kMs, kMs);
  report.wall_ns = 1603 * kMs;
  const Calibration calibration = calibrate(report);
  EXPECT_EQ(verdict_key(calibration.replayed.verdict), "compute:work");
  const Prediction two = predict(calibration, parse_changes("work.slots=2"));
  EXPECT_NEAR(two.gain, 2, .02);
  const Prediction fast = predict(calibration, parse_changes("work.cpu=4x"));
  EXPECT_NEAR(fast.gain, 2, .02);
  EXPECT_EQ(verdict_key(fast.replayed.verdict), "io-read:read");
  EXPECT_NEAR(predict(calibration, parse_changes("read.rate=2x")).gain, 1, .005);
  EXPECT_NEAR(predict(calibration, parse_changes("work.slots=4,pipeline.threads=4")).gain, 2, .02);
  EXPECT_THROW(predict(calibration, parse_changes("wrok.slots=2")), Error);
}

TEST(WhatIf, MoreSlotsThanCoresDoNotComputeFaster) {
  RunReport report = test::recorded_report(400, 10'000, 4 * kMs, 10'000);
  report.wall_ns = 1600 * kMs;
  report.threads = 8;
  const Calibration calibration = calibrate(report);
  EXPECT_NEAR(predict(calibration, parse_changes("work.slots=4")).gain, 2, .02);
  EXPECT_NEAR(predict(calibration, parse_changes("work.slots=4,cores=4")).gain, 4, .05);
}

TEST(WhatIf, SaysWhatItTakesForGranted) {
  RunReport report = test::recorded_report(100, kMs, 4 * kMs, kMs);
  const Calibration calibration = calibrate(report);
  EXPECT_THAT(assumptions(calibration, {}), Contains(HasSubstr("'read' was held up")));
  EXPECT_THAT(assumptions(calibration, parse_changes("read.slots=2")), Contains(HasSubstr("a device that they share")));
}

/// A real run, recorded.
RunReport run_recorded(const std::string& config) {
  Registry registry;
  add_builtin_stages(registry);
  RunSettings settings;
  settings.record = true;
  RunOutcome outcome = run(prepare(load_config_text(config, "test.toml", {}), registry), settings);
  complete_report(outcome.report);
  outcome.report.environment.cpus = usable_cores();
  return std::move(outcome.report);
}

TEST(WhatIf, ARealRunOfSleepingStagesIsReplayedAsItWas) {
  const RunReport report = run_recorded(R"(
[pipeline]
threads = 6
[[stage]]
name = "read"
type = "synthetic_reader"
chunks = 120
chunk_bytes = "4 KiB"
fill = "zeros"
[[stage]]
name = "first"
type = "spin"
sleep = "2 ms"
jitter = 0.5
[[stage]]
name = "second"
type = "spin"
sleep = "8 ms"
slots = 3
link = { chunks = 2 }
[[stage]]
name = "write"
type = "null_writer"
)");
  ASSERT_EQ(report.status, "ok");
  for (const StageReport& stage : report.stages) {
    ASSERT_TRUE(stage.record) << stage.name;
    EXPECT_FALSE(stage.record->cut());
  }
  EXPECT_EQ(report.stages[2].record->turns.size(), 120U + 3U);  // one finish per slot
  const Calibration calibration = calibrate(report);
  EXPECT_TRUE(calibration.trusted()) << calibration.error();
  EXPECT_EQ(calibration.replayed.stages[3].chunks_in, 120U);
  EXPECT_EQ(calibration.replayed.stages[2].bytes_out, report.stages[2].bytes_out);
}

}  // namespace
}  // namespace millrace
