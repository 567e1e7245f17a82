#include "pipeline/experiment/comparison_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/experiment/comparison_fixture.h"
#include "tests/support/places.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::small_comparison;
using testing::HasSubstr;
using testing::Not;

void expect_hundred_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_THAT(line, Not(testing::EndsWith(" ")));
  }
}

TEST(ComparisonText, IsAsTheGoldenFileHasIt) {
  EXPECT_EQ(to_text(small_comparison()),
            test::contents_of(test::source_dir().string() + "/tests/experiment/golden/comparison.txt"));
}

TEST(ComparisonText, KeepsToAHundredColumns) {
  ComparisonReport report = small_comparison();
  expect_hundred_columns(to_text(report));
  report.arms[2].label = "transport=mmap advice=populate window=8 MiB";
  report.ended_early = "after 3 of 40 repeats, because another would not end within --max-time 10 min, as was said";
  while (report.arms[2].runs.size() < 40) {
    report.arms[2].runs.push_back(report.arms[2].runs.back());
    ++report.arms[2].runs.back().block;
  }
  expect_hundred_columns(to_text(report));
}

TEST(ComparisonText, BracketsWhatWasLeftOut) {
  const std::string text = to_text(small_comparison());
  EXPECT_THAT(text, HasSubstr("501 504 [496] 504 496 502 MiB/s"));
  EXPECT_THAT(text, HasSubstr("left out: 'advice=sequential', repeat 3: 37.0 % of the input was in the page cache"));
}

TEST(ComparisonText, SaysWhenNoReadSettingCanHelp) {
  ComparisonReport report = small_comparison();
  EXPECT_THAT(to_text(report), Not(HasSubstr("no read setting can help")));
  report.reading_never_limits = true;
  report.reading_evidence = {"reading was the bottleneck in none of 24 runs"};
  EXPECT_THAT(to_text(report), HasSubstr("no read setting can help this run: reading was the bottleneck in none"));
}

TEST(ComparisonText, NamesOtherLoad) {
  ComparisonReport report = small_comparison();
  EXPECT_THAT(to_text(report), HasSubstr("other load: none to speak of\n"));
  for (auto& run : report.arms[0].runs) run.mechanism.run_delay_share = 0.3;
  complete_comparison(report);
  EXPECT_THAT(to_text(report), HasSubstr("other load: with 1 of 4 settings, threads waited for a core 10 % or more"));
  EXPECT_THAT(to_text(report), HasSubstr("(most with 'advice=none': 30 %)"));
}

TEST(ComparisonText, EndsWithTheFailure) {
  ComparisonReport report = small_comparison();
  report.arms[2].runs[4].outputs[0].sha256 = test::digest('b');
  complete_comparison(report);
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("FAILED: the outputs differ: arm 'advice=willneed', repeat 5: /data/out.raw"));
  EXPECT_THAT(text, Not(HasSubstr("identical")));
}

TEST(ComparisonText, OfAnExperimentWithoutRunsHasNoNumbersFromNowhere) {
  ComparisonReport report = small_comparison();
  for (auto& arm : report.arms) arm.runs.clear();
  report.blocks.clear();
  complete_comparison(report);
  expect_hundred_columns(to_text(report));
}

}  // namespace
}  // namespace millrace
