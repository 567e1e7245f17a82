#include "apps/report_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::CommandResult;
using test::run_millrace;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

StageReport stage_report(const std::string& name, Role role, std::int64_t busy_ns, std::int64_t starved_ns) {
  StageReport stage;
  stage.name = name;
  stage.role = role;
  stage.time.busy_ns = busy_ns;
  stage.time.starved_ns = starved_ns;
  stage.busy.on_cpu_ns = busy_ns;
  stage.bytes_out = 1000 << 20;
  return stage;
}

RunReport run_report(std::int64_t wall_ns, const std::string& kind) {
  RunReport report;
  report.name = "basecall";
  report.status = "ok";
  report.wall_ns = wall_ns;
  report.stages = {stage_report("read", Role::source, wall_ns, 0),
                   stage_report("work", Role::sink, wall_ns / 4, wall_ns - wall_ns / 4)};
  report.verdict.kind = kind;
  report.verdict.stage = "read";
  report.verdict.confidence = "sure";
  report.environment.host = "lab-1";
  return report;
}

TEST(ReportOutput, SaysWhatChangedBetweenTwoRuns) {
  const RunReport before = run_report(10'000'000'000, "io-read");
  RunReport after = run_report(8'000'000'000, "compute");
  after.stages[1] = stage_report("work", Role::sink, 4'000'000'000, 4'000'000'000);
  EXPECT_EQ(apps::difference_text(before, after), R"(                               first                  second
run                         basecall                basecall
status                            ok                      ok
wall                          10.0 s                  8.00 s
read                        1000 MiB                1000 MiB
rate                       100 MiB/s               125 MiB/s  1.25x as fast
peak memory                      0 B                     0 B
verdict          io-read:read (sure)     compute:read (sure)

shares of slot time in %, first -> second
stage         busy          cpu           io      starved      blocked        ready
read    100 -> 100   100 -> 100       0 -> 0       0 -> 0       0 -> 0       0 -> 0
work      25 -> 50     25 -> 50       0 -> 0     75 -> 50       0 -> 0       0 -> 0

One run of each: without repeats a difference may be chance.
)");
}

TEST(ReportOutput, NamesStagesThatOnlyOneRunHas) {
  const RunReport before = run_report(1'000'000'000, "io-read");
  RunReport after = before;
  after.stages[1].name = "encode";
  const std::string text = apps::difference_text(before, after);
  EXPECT_THAT(text, HasSubstr("\nwork   only in the first run\n"));
  EXPECT_THAT(text, HasSubstr("\nencode  only in the second run\n"));
}

TEST(ReportOutput, SaysWhenTheMachinesDiffer) {
  const RunReport before = run_report(1'000'000'000, "io-read");
  RunReport after = before;
  EXPECT_THAT(apps::difference_text(before, after), Not(HasSubstr("two machines")));
  after.environment.host = "lab-2";
  EXPECT_THAT(apps::difference_text(before, after), HasSubstr("the runs are of two machines: lab-1 and lab-2"));
}

TEST(ReportOutput, SurvivesRunsWithoutTimeOrStages) {
  EXPECT_THAT(apps::difference_text(RunReport{}, RunReport{}), StartsWith(" "));
}

class ReportCommand : public testing::Test {
 protected:
  std::string run_and_store(const std::string& name) const {
    const auto config = directory_.write("p.toml", test::synthetic(20) + test::null_writer());
    const std::string report = (directory_ / name).string();
    const CommandResult result = run_millrace({"run", config.string(), "--progress", "off", "--report", report});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    printed_ = result.out;
    return report;
  }

  test::TempDirectory directory_;
  mutable std::string printed_;
};

TEST_F(ReportCommand, PrintsAStoredReportAsTheRunDid) {
  const std::string report = run_and_store("r.json");
  const CommandResult result = run_millrace({"report", report});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, printed_);
  EXPECT_EQ(run_millrace({"report", report, "--explain"}).out.rfind("\nrule: ") == std::string::npos, false);
}

TEST_F(ReportCommand, ComparesTwo) {
  const CommandResult result = run_millrace({"report", run_and_store("a.json"), run_and_store("b.json")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nshares of slot time in %, first -> second\n"));
}

TEST_F(ReportCommand, RefusesWhatIsNoReport) {
  for (const auto& [name, contents] :
       {std::pair<const char*, const char*>{"empty.json", ""}, {"text.json", "hello"}, {"other.json", "{\"a\": 1}"}}) {
    const auto file = directory_.write(name, contents);
    const CommandResult result = run_millrace({"report", file.string()});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err_lines(), ElementsAre(StartsWith("millrace: error: " + file.string() + ": ")));
  }
  for (const std::string& path : {(directory_ / "none.json").string(), directory_.path().string()}) {
    const CommandResult result = run_millrace({"report", path});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err_lines(), ElementsAre(StartsWith("millrace: error: " + path + ": cannot ")));
  }
}

}  // namespace
}  // namespace millrace
