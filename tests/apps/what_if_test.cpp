#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/what_if_outcome.h"
#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::contents_of;
using test::null_writer;
using test::stage;
using test::synthetic;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WhatIfCommand : public testing::Test {
 protected:
  CommandResult record(const std::string& config) const {
    return test::run_millrace(
        {"run", directory_.write("p.toml", config).string(), "--progress", "off", "--record", "--report", report()});
  }
  CommandResult explain(std::vector<std::string> more) const {
    more.insert(more.begin(), {"explain", report()});
    return test::run_millrace(more);
  }
  std::string report() const { return (directory_ / "r.json").string(); }
  std::string out() const { return (directory_ / "what_if.json").string(); }

  /// `work` sleeps 5 ms for each of 60 chunks.
  static std::string sleeper() {
    return "[pipeline]\nthreads = 4\n" + synthetic(60) + stage("work", "spin", "sleep = \"5 ms\"") + null_writer();
  }

  test::TempDirectory directory_;
};

TEST_F(WhatIfCommand, PredictsTheGainOfAChangeAndNamesTheNextBottleneck) {
  ASSERT_EQ(record(sleeper()).exit_code, 0);
  // Forced: on a machine that is busy with something else, the replay of so short a run may be far off.
  const CommandResult result =
      explain({"--what-if", "work.slots=2", "--what-if", "work.wait=4x", "--json", out(), "--force"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("with nothing changed"), HasSubstr("work.slots=2"),
                                HasSubstr("takes for granted"), HasSubstr("a device that they share")));
  const json written = json::parse(contents_of(out()));
  EXPECT_EQ(written["schema"], "millrace.what_if/1");
  ASSERT_EQ(written["scenarios"].size(), 2U);
  EXPECT_NEAR(written["scenarios"][0]["predicted"]["gain"].get<double>(), 2, .3);
  EXPECT_EQ(written["scenarios"][0]["predicted"]["stages"][1]["slots"], 2);
  EXPECT_TRUE(written["scenarios"][0]["verified"].is_null());
  EXPECT_EQ(written["recorded"]["verdict"]["stage"], "work");
}

TEST_F(WhatIfCommand, AdviceComesWithItsGainsAndWithWhatWasNotTried) {
  ASSERT_EQ(record(sleeper()).exit_code, 0);
  const CommandResult result = explain({"--advise", "--json", out(), "--force"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("work.wait=2x"), HasSubstr("no advice on writing")));
  const json written = json::parse(contents_of(out()));
  EXPECT_TRUE(written["advised"].get<bool>());
  for (const json& scenario : written["scenarios"]) EXPECT_GE(scenario["predicted"]["gain"].get<double>(), 1.03);
}

TEST_F(WhatIfCommand, VerifyRunsTheChangeOrSaysWhyItCannot) {
  ASSERT_EQ(record(sleeper()).exit_code, 0);
  const CommandResult result = explain({"--what-if", "work.slots=2", "--what-if", "work.wait=2x", "--verify",
                                        "--repeats", "1", "--json", out(), "--force"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("verified by 1 pairs of runs"), HasSubstr("not verified: no key")));
  const json written = json::parse(contents_of(out()));
  EXPECT_EQ(written["scenarios"][0]["verified"]["changed_chunks_per_s"].size(), 1U);
  EXPECT_GT(written["scenarios"][0]["verified"]["gain"].get<double>(), 0);
  EXPECT_THAT(written["scenarios"][1]["verified"]["unverifiable"].get<std::string>(), HasSubstr("no key"));
}

TEST_F(WhatIfCommand, VerifyRefusesAConfigThatHasChangedSince) {
  ASSERT_EQ(record(sleeper()).exit_code, 0);
  directory_.write("p.toml", sleeper() + "# the same\n");
  EXPECT_EQ(explain({"--what-if", "work.slots=2", "--verify", "--repeats", "1", "--force"}).exit_code, 0);
  directory_.write("p.toml", "[pipeline]\nthreads = 3\n" + synthetic(60) + stage("work", "spin", "sleep = \"5 ms\"") +
                                 null_writer());
  const CommandResult result = explain({"--what-if", "work.slots=2", "--verify", "--force"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("not the one that was recorded"));
}

TEST_F(WhatIfCommand, WhatMakesNoSenseIsAUsageErrorOfOneLine) {
  ASSERT_EQ(record(sleeper()).exit_code, 0);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--what-if", "wrok.slots=2"}, "did you mean 'work'?"},
      {{"--what-if", "work.slots=0"}, "a number from 1"},
      {{"--what-if", "work.rate=2"}, "how many times as fast"},
      {{"--what-if", "read.link.chunks=2"}, "is a source"},
      {{}, "--what-if CHANGES or --advise"},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> all = arguments;
    all.emplace_back("--force");
    const CommandResult result = explain(all);
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.err_lines().size(), 1U) << result.err;
  }
}

TEST_F(WhatIfCommand, AReportWithoutARecordSaysHowToGetOne) {
  ASSERT_EQ(test::run_millrace(
                {"run", directory_.write("p.toml", sleeper()).string(), "--progress", "off", "--report", report()})
                .exit_code,
            0);
  const CommandResult result = explain({"--advise"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--record"));
}

TEST_F(WhatIfCommand, RecordNeedsAReport) {
  const CommandResult result = test::run_millrace({"run", directory_.write("p.toml", sleeper()).string(), "--record"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--report"));
}

TEST(Verification, ItsGainIsTheGeometricMeanOfThePairs) {
  const apps::Verification seen{{100, 200}, {200, 100}, "", ""};
  EXPECT_NEAR(seen.gain(), 1, 1e-12);
  EXPECT_EQ(seen.lowest(), .5);
  EXPECT_EQ(seen.highest(), 2);
  EXPECT_EQ(apps::Verification{}.gain(), 0);
}

TEST(WhatIfText, SaysWhenNothingIsWorthIt) {
  apps::WhatIfOutcome outcome;
  outcome.advised = true;
  outcome.tried = 7;
  outcome.refused = {"no advice on reading: 'work' starved for 'read' never"};
  const std::string text = what_if_text(outcome);
  EXPECT_THAT(text, AllOf(HasSubstr("7 changes and pairs of changes were tried; none gains 3 % or more."),
                          HasSubstr("no advice on reading"), Not(HasSubstr("change  "))));
}

}  // namespace
}  // namespace millrace
