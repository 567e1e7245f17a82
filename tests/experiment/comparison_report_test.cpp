#include "pipeline/experiment/comparison_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experiment/comparison_fixture.h"

namespace millrace {
namespace {

using test::digest;
using test::small_comparison;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ComparisonReport, GivesTheRatesByBlockWithoutThoseLeftOut) {
  const ComparisonReport report = small_comparison();
  const RatesByBlock rates = rates_of(report);
  ASSERT_EQ(rates.size(), 4U);
  for (const auto& arm : rates) ASSERT_EQ(arm.size(), 6U);
  EXPECT_FALSE(rates[3][2]);
  EXPECT_EQ(rates[3][3], report.arms[3].runs[3].rate);
}

TEST(ComparisonReport, NamesWhatWasLeftOut) {
  const ComparisonReport report = small_comparison();
  ASSERT_EQ(report.excluded.size(), 1U);
  EXPECT_EQ(report.excluded[0].arm, "advice=sequential");
  EXPECT_EQ(report.excluded[0].block, 2U);
  EXPECT_THAT(report.excluded[0].reason, HasSubstr("37.0 %"));
  EXPECT_EQ(report.status, "ok");
}

TEST(ComparisonReport, FailsWhenNothingOfAnArmIsLeft) {
  ComparisonReport report = small_comparison();
  for (auto& run : report.arms[2].runs) {
    run.excluded = true;
    run.reason = "it was warm";
  }
  complete_comparison(report);
  EXPECT_EQ(report.status, "failed");
  EXPECT_EQ(report.error, "every run of arm 'advice=willneed' was left out: it was warm");
}

TEST(ComparisonReport, TakesMediansOfTheRunsThatCount) {
  ComparisonReport report = small_comparison();
  report.arms[3].runs[2].mechanism.io_wait_s = 1000;
  report.arms[3].runs[0].mechanism.io_wait_s = 3;
  complete_comparison(report);
  EXPECT_DOUBLE_EQ(report.arms[3].mechanism.median.io_wait_s, 1.25);
  EXPECT_DOUBLE_EQ(report.arms[2].mechanism.median.advice_resident, 0.998);
  EXPECT_LT(report.arms[0].mechanism.median.advice_resident, 0) << "nobody looked";
  EXPECT_EQ(report.arms[3].mechanism.verdicts.at("io-read:read"), 5U);
}

TEST(ComparisonReport, SaysWhoWaitedForWhom) {
  ComparisonReport report = small_comparison();
  EXPECT_EQ(report.arms[0].mechanism.who_waited, "work waited for read 60 %");
  for (std::size_t i = 0; i < 2; ++i) {
    report.arms[0].runs[i].mechanism.waiting = "read";
    report.arms[0].runs[i].mechanism.cause = "(workers)";
  }
  complete_comparison(report);
  EXPECT_EQ(report.arms[0].mechanism.who_waited, "work waited for read 60 %, 4 of 6");
  for (auto& run : report.arms[0].runs) run.mechanism.waited_share = 0.004;
  complete_comparison(report);
  EXPECT_EQ(report.arms[0].mechanism.who_waited, "nobody waited");
}

TEST(ComparisonReport, RemarksOnAFallback) {
  EXPECT_THAT(small_comparison().arms[3].mechanism.remarks,
              ElementsAre("asked for direct, which does not work at this place: buffered ran"));
}

TEST(ComparisonReport, FailsWhenOneOutputDiffers) {
  ComparisonReport report = small_comparison();
  report.arms[2].runs[4].outputs[0].sha256 = digest('b');
  complete_comparison(report);
  EXPECT_FALSE(report.identical_output);
  EXPECT_EQ(report.status, "failed");
  EXPECT_THAT(report.error,
              HasSubstr("the outputs differ: arm 'advice=willneed', repeat 5: /data/out.raw has other bytes"));
}

TEST(ComparisonReport, HoldsOutputsAgainstThoseOfTheSameInput) {
  ComparisonReport report = small_comparison();
  for (auto& arm : report.arms) {
    for (auto& run : arm.runs) {
      run.input = run.block % 2 == 0 ? "even" : "odd";
      run.outputs[0].sha256 = digest(run.block % 2 == 0 ? 'a' : 'b');
    }
  }
  complete_comparison(report);
  EXPECT_TRUE(report.identical_output);
}

TEST(ComparisonReport, TellsSizeAndNumberOfOutputsApart) {
  const ComparisonReport report = small_comparison();
  ComparisonRun run = report.arms[0].runs[0];
  EXPECT_EQ(difference_of(report.arms[0].runs[0], run), "");
  run.outputs[0].path = "/elsewhere";
  EXPECT_EQ(difference_of(report.arms[0].runs[0], run), "");
  run.outputs[0].bytes = 3;
  EXPECT_EQ(difference_of(report.arms[0].runs[0], run), "/elsewhere has 3 bytes, against 1073741824");
  run.outputs.clear();
  EXPECT_EQ(difference_of(report.arms[0].runs[0], run), "0 outputs, against 1");
}

TEST(ComparisonReport, SaysThatNoReadSettingCanHelpWhenNoRunWaitedForReading) {
  ComparisonReport report = small_comparison();
  EXPECT_FALSE(report.reading_never_limits);
  for (auto& arm : report.arms) {
    for (auto& run : arm.runs) {
      run.reader_limits = false;
      run.reading_cannot_help = "any read setting: work never starved";
      run.mechanism.starved_share = 0.004;
    }
  }
  complete_comparison(report);
  EXPECT_TRUE(report.reading_never_limits);
  EXPECT_THAT(report.reading_evidence,
              ElementsAre("reading was the bottleneck in none of 24 runs",
                          "what reads from the source starved at most 0.4 % of its time (median of 'advice=none')"));
  report.arms[3].runs[2].reader_limits = true;
  complete_comparison(report);
  EXPECT_FALSE(report.reading_never_limits) << "one run is enough to be careful";
}

TEST(ComparisonReport, DoesNotClearTheReaderWhenMostReportsOnlyFailToBlameIt) {
  ComparisonReport report = small_comparison();
  for (auto& arm : report.arms) {
    for (auto& run : arm.runs) {
      run.reader_limits = false;
      run.reading_cannot_help = run.block < 2 ? "any read setting: work never starved" : "";
    }
  }
  complete_comparison(report);
  EXPECT_FALSE(report.reading_never_limits);
}

}  // namespace
}  // namespace millrace
