#include "pipeline/complete_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/verdict.h"
#include "tests/pipeline/report_fixture.h"

namespace millrace {
namespace {

using test::full_report;
using test::ReportBuilder;
using test::Shares;
using testing::Contains;
using testing::HasSubstr;

std::vector<Shares> chain(Shares read, Shares f, Shares write) {
  read.name = "read";
  read.role = Role::source;
  f.name = "f";
  write.name = "write";
  write.role = Role::sink;
  return {std::move(read), std::move(f), std::move(write)};
}

std::vector<Shares> compute_bound() {
  return chain({.cpu = .1, .blocked = .9}, {.cpu = .99, .ready = .01}, {.io = .05, .starved = .95});
}

TEST(CompleteReport, FindsTheStageWhoseTimesCloseWorst) {
  RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound()).build();
  report.stages[1].time.busy_ns -= 20'000'000;
  report.stages[2].time.starved_ns += 10'000'000;
  complete_report(report);
  EXPECT_NEAR(report.closure_error, .002, 1e-9);
  EXPECT_EQ(report.status, "ok");
}

TEST(CompleteReport, FailsARunWhoseTimesDoNotClose) {
  RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound()).build();
  report.stages[1].time.busy_ns -= 60'000'000;
  complete_report(report);
  EXPECT_EQ(report.status, "failed");
  EXPECT_THAT(report.error, HasSubstr("closure error 0.60 % is above 0.50 %"));
}

TEST(CompleteReport, FailsARunThatLostChunksWithoutSayingSo) {
  RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound()).build();
  report.loss = {1000, 990, {{"f", "drop_newest", 5}}, 0, 0};
  complete_report(report);
  EXPECT_EQ(report.status, "failed");
  EXPECT_THAT(report.error, HasSubstr("read 1000 but written 990 + dropped 5"));
}

TEST(CompleteReport, LeavesTheErrorOfAFailedRunAlone) {
  RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound()).build();
  report.status = "failed";
  report.error = "disk full";
  report.loss.read = 1;
  complete_report(report);
  EXPECT_EQ(report.error, "disk full");
}

TEST(CompleteReport, ComputesTheMeanWaitByLittlesLawUnlessTheEngineDid) {
  RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound(), 100).build();
  report.links[1].mean_wait_ns = 77;
  complete_report(report);
  // 2 chunks on average, 1000 chunks in 10 s: 20 ms.
  EXPECT_NEAR(report.links[0].mean_wait_ns, 20e6, 1);
  EXPECT_NEAR(report.links[1].mean_wait_ns, 77, 0);
}

TEST(CompleteReport, CountsCopiesPerByteDelivered) {
  RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound(), 100).build();
  report.stages[1].copied_bytes = report.stages[2].bytes_in / 4;
  complete_report(report);
  EXPECT_NEAR(report.memory.bytes_copied_per_byte, .25, 1e-12);
}

TEST(CompleteReport, PutsTheLargestFirstAndKeepsTenStalls) {
  RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound()).build();
  for (int i = 0; i < 12; ++i) report.stalls.push_back({"f", "starved", 1000 + i, 0, 0, {}});
  report.blame = {{"a", "b", 1}, {"c", "d", 0}, {"e", "f", 5}};
  complete_report(report);
  ASSERT_EQ(report.stalls.size(), 10U);
  EXPECT_EQ(report.stalls.front().ns, 1011);
  EXPECT_EQ(report.stalls.back().ns, 1002);
  ASSERT_EQ(report.blame.size(), 2U);
  EXPECT_EQ(report.blame.front().waiting, "e");
}

TEST(CompleteReport, JudgesTheSteadyPhaseAndNotItsEnds) {
  const auto starting = chain({.io = 1}, {.starved = 1}, {.starved = 1});
  const auto draining = chain({}, {.cpu = .1, .starved = .9}, {.io = 1});
  RunReport report = ReportBuilder(compute_bound())
                         .spend(20, .1, starting, 1, 0)
                         .spend(40, .1, compute_bound())
                         .spend(20, .1, draining)
                         .build();
  complete_report(report);
  EXPECT_EQ(verdict_key(report.verdict), "compute:f");
  EXPECT_EQ(report.verdict.confidence, "sure") << report.verdict.rule;
  EXPECT_THAT(report.verdict.rule, HasSubstr("judged on the steady phase 2.10 s to 6.00 s of 8.00 s"));
  EXPECT_THAT(report.verdict.evidence, Contains(HasSubstr("the run went on for 2.00 s: I/O-bound at 'write'")));
}

TEST(CompleteReport, SaysThatTheBottleneckChanged) {
  const auto write_bound = chain({.blocked = 1}, {.cpu = .3, .blocked = .7}, {.io = .98, .starved = .02});
  RunReport report = ReportBuilder(compute_bound()).spend(60, 60, compute_bound()).spend(30, 60, write_bound).build();
  complete_report(report);
  EXPECT_EQ(verdict_key(report.verdict), "compute:f");
  EXPECT_THAT(report.verdict.evidence, Contains(HasSubstr("This changed during the run")));
  EXPECT_THAT(report.verdict.evidence, Contains(HasSubstr("it was I/O-bound at 'write' instead")));
}

TEST(CompleteReport, SaysWhyOneAdviceCallForAWholeFileDidLittle) {
  struct Row {
    std::string kind;
    std::string scope;
    std::uint64_t step_mib;
    std::uint64_t checked_mib;
    std::uint64_t resident_mib;
    std::string said;  ///< empty = nothing
  };
  const std::string start = "'read' did little: one call prefetches at most ";
  for (const auto& row :
       {Row{"willneed", "file", 8, 512, 8,
            start + "8.00 MiB here, of files of 512 MiB; only 1.6 % of the data was there in time."},
        Row{"willneed", "file", 8, 512, 508,
            start + "8.00 MiB here, of files of 512 MiB; that 99 % of the data was there in time is the "
                    "kernel's own read-ahead."},
        Row{"willneed", "file", 8, 0, 0, start + "8.00 MiB here, of files of 512 MiB."},
        Row{"willneed", "file", 512, 512, 100, start + "512 MiB here"}, Row{"willneed", "file", 512, 512, 500, ""},
        Row{"willneed", "window", 8, 512, 8, ""}, Row{"sequential", "file", 8, 512, 8, ""}}) {
    RunReport report = ReportBuilder(compute_bound()).spend(10, 1, compute_bound()).build();
    report.stages[0].io.emplace();
    report.stages[0].io->advice = {
        row.kind, row.scope, 512U << 20, row.step_mib << 20, 1, 0, row.checked_mib << 20, row.resident_mib << 20};
    complete_report(report);
    if (row.said.empty()) {
      EXPECT_THAT(report.verdict.evidence, testing::Not(Contains(HasSubstr("did little")))) << row.kind << row.scope;
    } else {
      EXPECT_THAT(report.verdict.evidence, Contains(HasSubstr(row.said)));
    }
  }
}

TEST(CompleteReport, MayBeDoneTwice) {
  const RunReport once = full_report();
  RunReport twice = once;
  complete_report(twice);
  EXPECT_EQ(twice.verdict.evidence, once.verdict.evidence);
  EXPECT_EQ(twice.verdict.rule, once.verdict.rule);
  EXPECT_EQ(twice.phases.size(), once.phases.size());
  EXPECT_EQ(twice.blame.size(), once.blame.size());
  EXPECT_EQ(twice.status, once.status);
}

TEST(CompleteReport, SurvivesAnEmptyReport) {
  RunReport report;
  report.status = "ok";
  complete_report(report);
  EXPECT_EQ(report.verdict.kind, "none");
  EXPECT_EQ(report.status, "ok");
}

}  // namespace
}  // namespace millrace
