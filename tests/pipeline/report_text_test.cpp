#include "pipeline/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "pipeline/complete_report.h"
#include "pipeline/report_table.h"
#include "tests/pipeline/report_fixture.h"
#include "tests/support/places.h"

namespace millrace {
namespace {

using test::drifting_report;
using test::full_report;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string golden(const std::string& name) {
  std::ifstream file(test::source_dir().string() + "/tests/pipeline/golden/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReportText, PrintsARunAsTheGoldenFileHasIt) { EXPECT_EQ(to_text(full_report()), golden("report_io_read.txt")); }

TEST(ReportText, PrintsDriftAndLossesAsTheGoldenFileHasThem) {
  EXPECT_EQ(to_text(drifting_report()), golden("report_drift.txt"));
}

TEST(ReportText, KeepsToAHundredColumns) {
  for (const auto& report : {full_report(), drifting_report()})
    for (const auto& line : lines_of(to_text(report))) EXPECT_LE(line.size(), 100U) << line;
}

TEST(ReportText, ColoursChangeNothingButColours) {
  const std::string plain = to_text(full_report());
  std::string coloured = to_text(full_report(), {true});
  EXPECT_NE(coloured, plain);
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, plain);
}

TEST(ReportText, LabelsTheCacheInItsFirstLines) {
  RunReport report = full_report();
  EXPECT_THAT(to_text(report), HasSubstr("cold (0.4 % of the input was cached)"));
  report.cache.resident_before_fraction = 1;
  report.cache.device_bytes = 0;
  EXPECT_THAT(to_text(report), HasSubstr("100 % warm: this run says nothing about your disk"));
  report.cache.resident_before_fraction = -1;
  EXPECT_THAT(to_text(report), HasSubstr("cache state of the input unknown"));
  report.cache.input_bytes = 0;
  EXPECT_THAT(to_text(report), Not(HasSubstr("cache state")));
}

TEST(ReportText, SaysHowFarAdviceReached) {
  RunReport report = full_report();
  IoStats::Advice& advice = report.stages[0].io->advice;
  const auto unbroken = [&report] {
    std::string text;
    for (const auto& line : lines_of(to_text(report))) text += line.substr(line.starts_with("  ") ? 2 : 0) + " ";
    return text;
  };
  EXPECT_THAT(unbroken(),
              HasSubstr("advice willneed over a window of 16.0 MiB in steps of 1.00 MiB: 3000 calls, 1 err"));
  EXPECT_THAT(unbroken(), HasSubstr("87 % of the data cached or under way when it was read"));
  advice.scope = "file";
  EXPECT_THAT(unbroken(), HasSubstr("advice willneed in one call for each file: 3000 calls"));
  advice.kind = "sequential";
  EXPECT_THAT(unbroken(), HasSubstr("advice sequential: 3000 calls"));
}

TEST(ReportText, CountsCacheHitsOnlyWithoutAdvice) {
  RunReport report = full_report();
  EXPECT_THAT(to_text(report), Not(HasSubstr("from the page cache")));
  report.stages[0].io->advice.kind = "none";
  report.stages[0].io->transport_requested = "buffered";
  EXPECT_THAT(to_text(report), HasSubstr("12.0 MiB from the page cache"));
}

TEST(ReportText, SaysThatAnotherTransportRan) {
  EXPECT_THAT(to_text(full_report()), HasSubstr("buffered instead of mmap"));
}

TEST(ReportText, OfAnEmptyReportIsStillAReport) {
  RunReport report;
  report.name = "nothing";
  report.status = "failed";
  report.error = "no input";
  complete_report(report);
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("failed: no input"));
  EXPECT_THAT(text, HasSubstr("verdict: no verdict."));
}

TEST(StageTable, AlignsEveryColumn) {
  const auto lines = lines_of(stage_table(full_report()));
  ASSERT_EQ(lines.size(), 4U);
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines[0].size());
  EXPECT_THAT(lines[0], HasSubstr("p50 call"));
}

TEST(StageTable, PrintsADashWhereAStateCannotOccur) {
  const auto lines = lines_of(stage_table(full_report()));
  const auto column = [&](std::size_t line, const std::string& title) {
    const std::size_t end = lines[0].find(title) + title.size();
    const std::size_t begin = lines[line].rfind(' ', end - 1) + 1;
    return lines[line].substr(begin, end - begin);
  };
  EXPECT_EQ(column(1, "starved"), "-");
  EXPECT_EQ(column(1, "ready"), "-");
  EXPECT_EQ(column(1, "blocked"), "1.4%");
  EXPECT_EQ(column(2, "starved"), "66.9%");
  EXPECT_EQ(column(2, "ready"), "1.9%");
  EXPECT_EQ(column(3, "blocked"), "-");
  EXPECT_EQ(column(3, "ready"), "-");
}

TEST(StageTable, PrintsAStateThatWasThoughtImpossibleWhenItWasSeen) {
  RunReport report = full_report();
  report.stages[0].time.ready_ns = report.wall_ns / 50;
  EXPECT_THAT(lines_of(stage_table(report))[1], HasSubstr("2.0%"));
}

TEST(StageTable, GivesALongNameALineOfItsOwn) {
  RunReport report = full_report();
  report.stages[1].name = "a_name_that_is_much_too_long_for_the_column";
  const auto lines = lines_of(stage_table(report));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[2], "a_name_that_is_much_too_long_for_the_column");
  EXPECT_EQ(lines[3].size(), lines[0].size());
}

TEST(Cells, FitTheirColumns) {
  for (std::uint64_t count = 1; count < 10'000'000'000'000'000'000ULL; count *= 10) {
    EXPECT_LE(short_count(count - 1).size(), 6U) << count - 1;
    EXPECT_LE(short_count(count * 9 / 8).size(), 6U) << count;
  }
  for (std::int64_t ns = 1; ns < 100'000'000'000'000; ns *= 10) {
    EXPECT_LE(short_duration(ns - 1).size(), 7U) << ns - 1;
    EXPECT_LE(short_duration(ns * 99 / 100).size(), 7U) << ns;
  }
  EXPECT_EQ(short_count(999'999), "999999");
  EXPECT_EQ(short_count(12'345'678), "12.3 M");
  EXPECT_EQ(short_duration(830), "830 ns");
  EXPECT_EQ(short_duration(3'049'000), "3.0 ms");
  EXPECT_EQ(short_duration(9'960'000), "10 ms");
  EXPECT_EQ(short_duration(12'400'000'000), "12 s");
  EXPECT_EQ(share_cell(986, 1000), "98.6%");
  EXPECT_EQ(share_cell(1000, 1000), "100%");
  EXPECT_EQ(share_cell(9996, 10'000), "100%");
  EXPECT_EQ(share_cell(1, 0), "-");
}

}  // namespace
}  // namespace millrace
