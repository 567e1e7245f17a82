#include "pipeline/experiment/merged_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experiment/comparison_fixture.h"

namespace millrace {
namespace {

using test::small_comparison;
using testing::HasSubstr;

/// The same experiment on another machine, where everything takes twice as long and advice does nothing.
ComparisonReport other_machine() {
  ComparisonReport report = small_comparison();
  report.environment.host = "bench2";
  for (auto& arm : report.arms) {
    for (auto& run : arm.runs) run.rate /= arm.label == "advice=willneed" ? 2.2 : 2;
  }
  complete_comparison(report);
  return report;
}

TEST(MergedText, SaysWhatIsTheMachineAndWhatTheSetting) {
  const std::vector<ComparisonReport> reports{small_comparison(), other_machine()};
  ASSERT_EQ(why_not_mergeable(reports), "");
  const MergedComparison merged = merge_hosts(host_rates_of(reports));
  const std::string text = merged_text(reports, merged);
  EXPECT_THAT(text, HasSubstr("advice: 2 reports of 2 machines, cold cache\n"));
  EXPECT_THAT(text, HasSubstr("\nadvice=willneed      bench1         6   1.100 "));
  EXPECT_THAT(text, HasSubstr("\n                     bench2         6   1.000 "));
  EXPECT_THAT(text, HasSubstr("machines disagree (p "));
  EXPECT_THAT(text, HasSubstr("  which machine "));
  EXPECT_THAT(text, HasSubstr("  made from 10 repeats in which every run counts; 2 were left out\n"));
  ASSERT_TRUE(merged.variance);
  EXPECT_GT(merged.variance->machine.share, 0.9) << "twice as slow outweighs everything";
}

TEST(MergedText, SaysWhyTheVarianceIsNotSplit) {
  std::vector<ComparisonReport> reports{small_comparison(), other_machine()};
  for (auto& run : reports[1].arms[3].runs) run.excluded = true;
  const MergedComparison merged = merge_hosts(host_rates_of(reports));
  EXPECT_FALSE(merged.variance);
  EXPECT_THAT(merged_text(reports, merged), HasSubstr("variance of the rates: not split, "));
}

TEST(MergedText, RefusesReportsOfDifferentExperiments) {
  const auto refusal = [](auto change) {
    std::vector<ComparisonReport> reports{small_comparison(), other_machine()};
    change(reports[1]);
    return why_not_mergeable(reports);
  };
  EXPECT_EQ(refusal([](ComparisonReport& report) { report.overrides = {"read.path=/elsewhere"}; }), "");
  EXPECT_EQ(refusal([](ComparisonReport& report) { report.config_sha256 = test::digest('d'); }),
            "report 2 cannot be merged with the first: it is of another config");
  EXPECT_THAT(refusal([](ComparisonReport& report) { report.arms.pop_back(); }), HasSubstr("it has other arms"));
  EXPECT_THAT(refusal([](ComparisonReport& report) { report.arms[2].label = "x"; }),
              HasSubstr("its arm 3 is 'x', not 'advice=willneed'"));
  EXPECT_THAT(refusal([](ComparisonReport& report) { report.arms[2].overrides = {"a.b=1"}; }), HasSubstr("its arm 3"));
  EXPECT_THAT(refusal([](ComparisonReport& report) { report.cache = CacheMode::warm; }),
              HasSubstr("its cache was warm, not cold"));
  EXPECT_THAT(refusal([](ComparisonReport& report) { report.unit = "chunks"; }), HasSubstr("its rates are of chunks"));
  EXPECT_THAT(refusal([](ComparisonReport& report) {
                report.status = "failed";
                report.error = "the outputs differ";
              }),
              HasSubstr("report 2 is of a failed comparison: the outputs differ"));
}

}  // namespace
}  // namespace millrace
