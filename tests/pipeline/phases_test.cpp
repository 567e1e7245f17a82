#include "pipeline/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/verdict.h"
#include "tests/pipeline/report_fixture.h"

namespace millrace {
namespace {

using test::ReportBuilder;
using test::Shares;

std::vector<Shares> stages(Shares read, Shares f, Shares write) {
  read.name = "read";
  read.role = Role::source;
  f.name = "f";
  write.name = "write";
  write.role = Role::sink;
  return {std::move(read), std::move(f), std::move(write)};
}

const std::vector<Shares>& starting() {
  static const auto value = stages({.cpu = .05, .io = .95}, {.starved = 1}, {.starved = 1});
  return value;
}
const std::vector<Shares>& compute_bound() {
  static const auto value = stages({.cpu = .1, .blocked = .9}, {.cpu = .99, .ready = .01}, {.io = .05, .starved = .95});
  return value;
}
const std::vector<Shares>& write_bound() {
  static const auto value =
      stages({.cpu = .05, .blocked = .95}, {.cpu = .3, .blocked = .7}, {.io = .98, .starved = .02});
  return value;
}
const std::vector<Shares>& draining() {
  static const auto value = stages({}, {.cpu = .9, .starved = .1}, {.io = .05, .starved = .95});
  return value;
}

std::vector<std::string> kinds(const std::vector<Phase>& phases) {
  std::vector<std::string> result;
  for (const auto& phase : phases) result.push_back(phase.kind + " " + verdict_key(phase.verdict));
  return result;
}

void expect_no_gaps(const RunReport& report, const std::vector<Phase>& phases) {
  std::int64_t at = 0;
  for (const auto& phase : phases) {
    EXPECT_EQ(phase.start_ns, at);
    EXPECT_GT(phase.end_ns, phase.start_ns);
    at = phase.end_ns;
  }
  EXPECT_EQ(at, report.wall_ns);
}

TEST(FindPhases, SeparatesWarmUpAndDrainFromSteady) {
  const RunReport report = ReportBuilder(compute_bound())
                               .spend(3, .1, starting(), 5, 0)
                               .spend(50, .1, compute_bound())
                               .spend(4, .1, draining())
                               .build();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("warm_up io-read:read", "steady compute:f", "drain compute:f"));
  EXPECT_NEAR(static_cast<double>(phases[1].start_ns), .4e9, 1);
  EXPECT_NEAR(static_cast<double>(phases[1].end_ns), 5.3e9, 1);
  expect_no_gaps(report, phases);
}

TEST(FindPhases, WaitsInWarmUpForTheLinksToFill) {
  const RunReport report = ReportBuilder(compute_bound())
                               .spend(5, .1, compute_bound(), 100, 0)
                               .spend(50, .1, compute_bound(), 100, 4)
                               .build();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("warm_up compute:f", "steady compute:f"));
  EXPECT_NEAR(static_cast<double>(phases[0].end_ns), .6e9, 1);
}

TEST(FindPhases, OfALinkThatFillsForEverWaitsNoLongerThanAQuarter) {
  ReportBuilder builder(compute_bound());
  for (std::uint64_t fill = 0; fill < 100; ++fill) builder.spend(1, .1, compute_bound(), 100, fill);
  const RunReport report = builder.build();
  const auto phases = find_phases(report);
  EXPECT_EQ(phases.back().kind, "steady");
  EXPECT_LE(phases.front().end_ns, report.wall_ns / 4);
  expect_no_gaps(report, phases);
}

TEST(FindPhases, CallsARunWithoutSamplesOneSteadyPhase) {
  RunReport report = ReportBuilder(compute_bound()).spend(50, .1, compute_bound()).build();
  report.samples.clear();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("steady compute:f"));
  expect_no_gaps(report, phases);
}

TEST(FindPhases, CallsAShortRunOneSteadyPhase) {
  const RunReport report = ReportBuilder(compute_bound())
                               .spend(1, .1, starting())
                               .spend(2, .1, compute_bound())
                               .spend(1, .1, draining())
                               .build();
  EXPECT_EQ(find_phases(report).size(), 1U);
}

TEST(FindPhases, CallsARunThatIsMostlyDrainOneSteadyPhase) {
  const RunReport report =
      ReportBuilder(compute_bound()).spend(8, .1, compute_bound()).spend(80, .1, draining()).build();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("steady compute:f"));
}

TEST(FindPhases, SplitsSteadyWhenTheBottleneckChangesForGood) {
  const RunReport report = ReportBuilder(compute_bound())
                               .spend(1, 1, starting(), 5, 0)
                               .spend(60, 1, compute_bound())
                               .spend(30, 1, write_bound())
                               .spend(2, 1, draining())
                               .build();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("warm_up io-read:read", "steady compute:f", "steady io-write:write",
                                                  "drain compute:f"));
  // A window is 91 s / 22; the change is found within one.
  EXPECT_NEAR(static_cast<double>(phases[1].end_ns), 61e9, 5e9);
  expect_no_gaps(report, phases);
  EXPECT_EQ(&main_phase(phases), &phases[1]);
}

TEST(FindPhases, FindsThreeBottlenecksInARow) {
  const auto read_bound = stages({.io = .98, .blocked = .02}, {.cpu = .3, .starved = .7}, {.io = .1, .starved = .9});
  const RunReport report = ReportBuilder(compute_bound())
                               .spend(40, 1, compute_bound())
                               .spend(40, 1, read_bound)
                               .spend(40, 1, write_bound())
                               .build();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("warm_up compute:f", "steady compute:f", "steady io-read:read",
                                                  "steady io-write:write"));
  expect_no_gaps(report, phases);
}

TEST(FindPhases, IgnoresADisturbanceThatPasses) {
  const RunReport report = ReportBuilder(compute_bound())
                               .spend(50, 1, compute_bound())
                               .spend(5, 1, write_bound())
                               .spend(50, 1, compute_bound())
                               .build();
  EXPECT_THAT(kinds(find_phases(report)), testing::ElementsAre("warm_up compute:f", "steady compute:f"));
}

TEST(FindPhases, IgnoresAVerdictThatChangesWithoutAnythingElse) {
  // f and g are balanced by a hair or not by a hair: the times are the same within 2 %.
  const auto near = [](double g) {
    return std::vector<Shares>{{"read", Role::source, .1, 0, 0, 0, 0, .9},
                               {"f", Role::transform, .99, 0, 0, 0, .01},
                               {"g", Role::transform, g, 0, 0, 0, .99 - g, 0, .01},
                               {"write", Role::sink, .1, 0, 0, 0, .9}};
  };
  RunReport report = ReportBuilder(near(.92)).spend(50, 1, near(.92)).spend(50, 1, near(.94)).build();
  report.threads = 4;
  report.environment.cpus = 4;
  const auto phases = find_phases(report);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[1].kind, "steady");
}

TEST(FindPhases, WithTwoSourcesDrainsWhenTheLastIsDone) {
  const auto both = [](bool first_done) {
    return std::vector<Shares>{{"a", Role::source, first_done ? 0.0 : .1, 0, 0, 0, 0, first_done ? 0.0 : .9},
                               {"b", Role::source, .1, 0, 0, 0, 0, .9},
                               {"f", Role::transform, .99, 0, 0, 0, 0, 0, .01},
                               {"write", Role::sink, .1, 0, 0, 0, .9}};
  };
  const RunReport report = ReportBuilder(both(false)).spend(10, 1, both(false)).spend(60, 1, both(true)).build();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("warm_up compute:f", "steady compute:f"));
}

TEST(FindPhases, IgnoresABranchThatNeverGetsAChunk) {
  auto with_idle = compute_bound();
  with_idle.push_back({"rejects", Role::sink, 0, 0, 0, 0, 1});
  const RunReport report = ReportBuilder(with_idle).spend(50, .1, with_idle).build();
  const auto phases = find_phases(report);
  EXPECT_THAT(kinds(phases), testing::ElementsAre("warm_up compute:f", "steady compute:f"));
  EXPECT_NEAR(static_cast<double>(phases[0].end_ns), .1e9, 1);
}

TEST(FindPhases, SurvivesAnEmptyReport) {
  const RunReport report;
  EXPECT_THAT(kinds(find_phases(report)), testing::ElementsAre("steady none"));
}

TEST(CompleteSamples, AddsBothEndsAndDropsWhatDoesNotFit) {
  RunReport report = ReportBuilder(compute_bound()).spend(5, .1, compute_bound()).build();
  report.samples.pop_back();
  report.samples[1].stages.pop_back();
  report.samples[3].at_ns = report.samples[2].at_ns;
  const auto samples = complete_samples(report);
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples.front().at_ns, 0);
  EXPECT_EQ(samples.back().at_ns, report.wall_ns);
  EXPECT_EQ(samples.back().stages[1].time, report.stages[1].time);
}

}  // namespace
}  // namespace millrace
