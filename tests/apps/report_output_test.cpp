#include "apps/report_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::CommandResult;
using test::run_millrace;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

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

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The report with its wall time multiplied, and nothing else changed.
std::string slowed(const std::string& path, double factor) {
  nlohmann::ordered_json report = nlohmann::ordered_json::parse(contents(path));
  report["wall_s"] = report["wall_s"].get<double>() * factor;
  std::ofstream(path + ".slow") << report.dump();
  return path + ".slow";
}

TEST_F(ReportCommand, SaysWhatChangedBetweenTwo) {
  const std::string json = (directory_ / "d.json").string();
  const CommandResult result =
      run_millrace({"report", run_and_store("a.json"), run_and_store("b.json"), "--json", json});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("surroundings"));
  EXPECT_THAT(result.out, HasSubstr("\nshares of slot time in %, first -> second\n"));
  EXPECT_EQ(nlohmann::json::parse(contents(json))["schema"], "millrace.difference/1");
}

TEST_F(ReportCommand, FailsOnSlowerRunsWhenToldTo) {
  const std::string fast = run_and_store("a.json");
  const std::string slow = slowed(fast, 2);
  const CommandResult failed = run_millrace({"report", fast, slow, "--fail-on-slower", "5%"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.out, HasSubstr("0.500 times as fast"));
  EXPECT_THAT(failed.err_lines(), ElementsAre(StartsWith("millrace: error: the second run is 50.0 % slower")));
  for (const auto& arguments : {std::vector<std::string>{"report", fast, slow, "--fail-on-slower", "60%"},
                                {"report", fast, slow, "--fail-on-slower", "0.6"},
                                {"report", slow, fast, "--fail-on-slower", "0"},
                                {"report", fast, slow}}) {
    const CommandResult passed = run_millrace(arguments);
    EXPECT_EQ(passed.exit_code, 0) << passed.err;
    EXPECT_EQ(passed.err, "");
  }
}

TEST_F(ReportCommand, RefusesToJudgeWhatCannotBeCompared) {
  const std::string good = run_and_store("a.json");
  std::string text = contents(good);
  text.replace(text.find("\"ok\""), 4, "\"failed\"");
  const std::string failed = directory_.write("failed.json", text).string();
  EXPECT_EQ(run_millrace({"report", good, failed}).exit_code, 0);
  const CommandResult result = run_millrace({"report", good, failed, "--fail-on-slower", "5%"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err_lines(), ElementsAre(HasSubstr("cannot be compared: the second run is 'failed'")));
}

TEST_F(ReportCommand, WritesAPage) {
  const std::string report = run_and_store("r.json");
  const std::string page = (directory_ / "r.html").string();
  const CommandResult result = run_millrace({"report", report, "--html", page});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(contents(page), StartsWith("<!doctype html>"));
}

TEST_F(ReportCommand, ARunWritesTheSamePage) {
  const auto config = directory_.write("p.toml", test::synthetic(20) + test::null_writer());
  const std::string report = (directory_ / "r.json").string();
  const std::string page = (directory_ / "r.html").string();
  const CommandResult result =
      run_millrace({"run", config.string(), "--progress", "off", "--report", report, "--html", page});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string again = (directory_ / "again.html").string();
  EXPECT_EQ(run_millrace({"report", report, "--html", again}).exit_code, 0);
  EXPECT_EQ(contents(page), contents(again));
}

TEST_F(ReportCommand, RefusesOptionsThatDoNotFitTheNumberOfReports) {
  const std::string report = run_and_store("r.json");
  for (const auto& arguments : {std::vector<std::string>{"report", report, "--fail-on-slower", "5%"},
                                {"report", report, "--json", (directory_ / "d.json").string()},
                                {"report", report, report, "--html", (directory_ / "d.html").string()},
                                {"report", report, report, "--explain"},
                                {"report", report, report, "--fail-on-slower", "5"},
                                {"report", report, "--html", (directory_ / "none" / "d.html").string()}}) {
    const CommandResult result = run_millrace(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments[2];
    EXPECT_EQ(result.err_lines().size(), 1U) << result.err;
  }
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
