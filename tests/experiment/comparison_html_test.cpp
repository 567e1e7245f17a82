#include "pipeline/experiment/comparison_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "pipeline/experiment/comparison_charts.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ArmReport arm(const std::string& label, double rate, double ratio) {
  ArmReport arm;
  arm.label = label;
  arm.overrides = {"read.via.advice=" + label};
  for (std::uint32_t block = 0; block < 3; ++block) {
    ComparisonRun run;
    run.block = block;
    run.order = block;
    run.rate = rate;
    arm.runs.push_back(run);
  }
  arm.effect.blocks = 3;
  arm.effect.ratio = ratio;
  arm.effect.low = ratio * .97;
  arm.effect.high = ratio * 1.03;
  arm.effect.p_value = .25;  // of three repeats it cannot be less, so the verdict does not go by it
  arm.effect.p_claim = .031;
  arm.mechanism.who_waited = "work waited for read 62 %";
  arm.mechanism.verdicts = {{"io-read:read", 3}};
  return arm;
}

ComparisonReport comparison() {
  ComparisonReport report;
  report.name = "prefetch";
  report.config = "configs/experiments/prefetch.toml";
  report.config_json = R"({"pipeline":{"name":"prefetch"}})";
  report.environment.host = "lab-1";
  report.arms = {arm("none", 100e6, 1), arm("none (again)", 101e6, 1.01), arm("willneed", 130e6, 1.3)};
  report.arms[2].effect.verdict = ArmVerdict::faster;
  report.arms[2].runs[1].excluded = true;
  report.arms[2].runs[1].reason = "12 % of the input was cached";
  report.excluded = {{"willneed", 1, "12 % of the input was cached"}};
  report.blocks = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
  report.noise_floor = 1.04;
  report.minimal_detectable_ratio = 1.06;
  return report;
}

TEST(ComparisonHtml, IsOnePageThatFetchesNothing) {
  for (const auto& report : {comparison(), ComparisonReport{}}) {
    const std::string page = to_html(report);
    EXPECT_THAT(page, StartsWith("<!doctype html>"));
    for (const char* outside : {"<script", "http:", "https:", "src=", "url(", "@import", "<link"})
      EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(ComparisonHtml, SaysWhatTheTextSays) {
  const std::string page = to_html(comparison());
  for (const char* text : {"willneed", "1.300", "1.261 to 1.339", "0.031", "<span class=\"good\">faster</span>",
                           "work waited for read 62 %", "124 MiB/s", "willneed, repeat 2: 12 % of the input was cached",
                           "noise floor 1.040", "1.060 times as fast", "repeat 2: willneed, none (again), none",
                           "3 x io-read:read", "lab-1", "read.via.advice=willneed"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(ComparisonHtml, SaysThatOutputsDifferAndThatNoReadSettingCanHelp) {
  ComparisonReport report = comparison();
  report.identical_output = false;
  report.output_difference = "arm 'x', repeat 2, out.tsv";
  report.reading_never_limits = true;
  report.reading_evidence = {"work never starved"};
  const std::string page = to_html(report);
  EXPECT_THAT(page, HasSubstr("The outputs differ: arm &#39;x&#39;, repeat 2, out.tsv"));
  EXPECT_THAT(page, HasSubstr("No read setting can help this run."));
  EXPECT_THAT(page, HasSubstr("work never starved"));
}

TEST(ComparisonHtml, EscapesWhatComesFromOutside) {
  const std::string evil = "<script>alert('x')</script>&\"";
  ComparisonReport report = comparison();
  report.name = report.error = report.config = report.started = report.ended_early = evil;
  report.identical_output = false;
  report.output_difference = evil;
  report.reading_never_limits = true;
  report.reading_evidence = {evil};
  report.config_json = R"({"a":"<script>"})";
  report.environment.host = report.environment.kernel = report.environment.millrace_version = evil;
  report.environment.paths = {{evil, evil, evil, 1, evil}};
  report.overrides = {evil};
  report.rotate_key = evil;
  report.rotate_files = {evil};
  report.excluded = {{evil, 0, evil}};
  for (auto& one : report.arms) {
    one.label = evil;
    one.overrides = {evil};
    one.mechanism.who_waited = evil;
    one.mechanism.verdicts = {{evil, 1}};
    one.mechanism.remarks = {evil};
    one.mechanism.median.transport = evil;
    for (auto& run : one.runs) {
      run.excluded = true;
      run.reason = evil;
    }
  }
  const std::string page = to_html(report);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("alert('x')")));
}

TEST(ForestPlot, PutsTheBaselineInTheMiddleAndTheIntervalAroundTheRatio) {
  const std::string plot = html::forest_plot(comparison());
  EXPECT_THAT(plot, HasSubstr("<circle class=\"dot\" cx=\"630.0\""));
  EXPECT_THAT(plot, HasSubstr("willneed: 1.300 (1.261 to 1.339)"));
  EXPECT_THAT(plot, HasSubstr("noise floor: 1.040"));
  EXPECT_THAT(plot, HasSubstr("equivalent: within 5 %"));
}

TEST(ForestPlot, IsEmptyWithoutEffects) {
  ComparisonReport report = comparison();
  for (auto& one : report.arms) one.effect = {};
  EXPECT_EQ(html::forest_plot(report), "");
}

TEST(ForestPlot, SurvivesNumbersThatAreNone) {
  ComparisonReport report = comparison();
  report.arms[1].effect.ratio = std::numeric_limits<double>::quiet_NaN();
  report.arms[2].effect.high = std::numeric_limits<double>::infinity();
  report.arms[2].effect.low = 0;
  report.noise_floor = -1;
  const std::string plot = html::forest_plot(report);
  EXPECT_THAT(plot, Not(HasSubstr("nan")));
  EXPECT_THAT(plot, Not(HasSubstr("inf")));
}

TEST(RunPlot, CrossesWhatWasLeftOut) {
  const std::string plot = html::run_plot(comparison());
  EXPECT_THAT(plot, HasSubstr("<path class=\"out\""));
  EXPECT_THAT(plot, HasSubstr("repeat 2, 124 MiB/s, left out: 12 % of the input was cached"));
  EXPECT_EQ(html::run_plot(ComparisonReport{}), "");
}

}  // namespace
}  // namespace millrace
