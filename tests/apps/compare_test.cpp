#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::Command;
using test::CommandResult;
using test::contents_of;
using test::null_writer;
using test::raw_writer;
using test::stage;
using test::synthetic;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class Compare : public testing::Test {
 protected:
  Compare() {
    std::filesystem::create_directory(directory_ / "out");
    directory_.write("in.raw", std::string(2'000'000, 'x'));
  }

  std::vector<std::string> arguments(const std::string& config, std::vector<std::string> more) const {
    std::vector<std::string> result{
        "compare", directory_.write("p.toml", config).string(), "--progress", "off", "--report", report_path()};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  CommandResult compare(const std::string& config, std::vector<std::string> more) const {
    return test::run_millrace(arguments(config, std::move(more)));
  }
  json report() const { return json::parse(contents_of(directory_ / "r.json")); }
  std::string report_path() const { return (directory_ / "r.json").string(); }
  std::filesystem::path journal() const { return directory_ / "r.json.journal"; }
  std::size_t journal_lines() const {
    const std::string text = std::filesystem::exists(journal()) ? contents_of(journal()) : "";
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  /// raw_reader of in.raw, then what is given.
  static std::string reading(const std::string& more = raw_writer()) {
    return stage("read", "raw_reader", "path = \"in.raw\"\nvia = { block = \"64 KiB\" }") + more;
  }

  test::TempDirectory directory_;
};

TEST_F(Compare, RunsEverySettingInEveryRepeatAndTheBaselineTwice) {
  const CommandResult result =
      compare(reading(), {"--vary", "read.via.advice=none,sequential", "--repeats", "3", "--cache", "as-is"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("advice=none (again)"));
  EXPECT_THAT(result.out, HasSubstr("outputs: identical in all 9 runs (SHA-256)"));
  const json stored = report();
  EXPECT_EQ(stored.at("schema"), "millrace.compare/1");
  EXPECT_EQ(stored.at("identical_output"), true);
  EXPECT_EQ(stored.at("cache"), "as-is");
  ASSERT_EQ(stored.at("arms").size(), 3U);
  ASSERT_EQ(stored.at("blocks").size(), 3U);
  EXPECT_EQ(stored.at("arms").at(2).at("overrides"), json::array({"read.via.advice=sequential"}));
  std::set<std::string> hashes;
  for (const auto& arm : stored.at("arms")) {
    ASSERT_EQ(arm.at("runs").size(), 3U);
    for (const auto& run : arm.at("runs")) {
      EXPECT_EQ(run.at("bytes"), 2'000'000);
      EXPECT_GT(run.at("rate").get<double>(), 0);
      EXPECT_EQ(stored.at("blocks").at(run.at("block").get<std::size_t>()).at(run.at("order").get<std::size_t>()),
                arm.at("label"));
      hashes.insert(run.at("outputs").at(0).at("sha256"));
    }
  }
  EXPECT_EQ(hashes.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(journal())) << "gone with the report written";
  EXPECT_THAT(stored.at("environment").at("host").get<std::string>(), Not(IsEmpty()));
}

TEST_F(Compare, TakesTheOrderFromTheSeed) {
  const auto order_with = [this](const char* seed) {
    EXPECT_EQ(
        compare(synthetic(3) + null_writer(), {"--vary", "write.link.chunks=1,2,3,4", "--repeats", "2", "--seed", seed})
            .exit_code,
        0);
    return report().at("blocks");
  };
  const json first = order_with("5");
  EXPECT_EQ(order_with("5"), first);
  EXPECT_NE(order_with("6"), first);
}

TEST_F(Compare, ReadsTheExperimentOfTheConfig) {
  const std::string config = reading() +
                             "[experiment]\nrepeats = 2\ncache = \"warm\"\n[[experiment.arm]]\nlabel = \"plain\"\n"
                             "[[experiment.arm]]\nlabel = \"mapped\"\nset = [\"read.via.transport=mmap\"]\n";
  const CommandResult result = compare(config, {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(report().at("arms").at(2).at("label"), "mapped");
  EXPECT_EQ(report().at("cache"), "warm");
  const json stored = report();
  for (const auto& arm : stored.at("arms")) {
    for (const auto& run : arm.at("runs")) EXPECT_EQ(run.at("cache_resident_before"), 1);
  }
  const CommandResult check = test::run_millrace({"check", (directory_ / "p.toml").string()});
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("  arm   mapped: read.via.transport=mmap\n"));
  EXPECT_EQ(test::run_millrace({"run", (directory_ / "p.toml").string(), "--progress", "off"}).exit_code, 0);
}

TEST_F(Compare, ChecksEveryArmBeforeTheFirstRun) {
  const CommandResult result =
      compare(reading(), {"--vary", "read.via.transport=buffered,mmap,bufered", "--cache", "as-is"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err_lines(),
              ElementsAre(HasSubstr("arm 'transport=bufered': <--set read.via.transport=bufered>:1:1: ")));
  EXPECT_THAT(directory_.names(), UnorderedElementsAre("in.raw", "out", "p.toml"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "out"));
}

TEST_F(Compare, CheckRefusesAnArmThatCannotBe) {
  const auto config =
      directory_.write("p.toml", reading() + "[experiment]\nvary = { read.via.advice = [\"none\", \"populate\"] }\n");
  const CommandResult result = test::run_millrace({"check", config.string()});
  EXPECT_EQ(result.exit_code, 2) << "only a map can be populated";
  EXPECT_THAT(result.err, HasSubstr("arm 'advice=populate': "));
}

TEST_F(Compare, FailsWhenAnArmWritesSomethingElse) {
  const CommandResult result =
      compare(synthetic(20, "seed = 1") + raw_writer(), {"--vary", "read.fill=ramp,zeros", "--repeats", "2"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err_lines(), ElementsAre(HasSubstr("the outputs differ: arm '")));
  EXPECT_THAT(result.err, HasSubstr("out/result.raw has other bytes than that of arm '"));
  EXPECT_EQ(report().at("identical_output"), false);
  EXPECT_THAT(result.out, HasSubstr("FAILED: the outputs differ"));
}

TEST_F(Compare, FailsWithTheErrorOfARunThatFails) {
  const CommandResult result =
      compare(reading(), {"--vary", "read.via.inject=none,eio", "--repeats", "2", "--cache", "as-is"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err_lines(), ElementsAre(HasSubstr("arm 'inject=eio', repeat 1: stage 'read', ")));
  EXPECT_FALSE(std::filesystem::exists(report_path()));
  EXPECT_TRUE(std::filesystem::exists(journal())) << "the runs before it are kept";
}

TEST_F(Compare, RotatesTheInputsAndJudgesOutputsByInput) {
  directory_.write("a.raw", std::string(300'000, 'a'));
  directory_.write("b.raw", std::string(500'000, 'b'));
  const CommandResult result = compare(reading(), {"--vary", "write.link.chunks=1,4", "--repeats", "4", "--cache",
                                                   "as-is", "--rotate", "read.path=a.raw,b.raw"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, int> times;
  const json stored = report();
  for (const auto& arm : stored.at("arms")) {
    for (const auto& run : arm.at("runs")) {
      ++times[run.at("input")];
      EXPECT_EQ(run.at("bytes"), run.at("input") == "a.raw" ? 300'000 : 500'000);
    }
  }
  EXPECT_EQ(times["a.raw"], 6);
  EXPECT_EQ(times["b.raw"], 6);
}

TEST_F(Compare, StopsAtTheTimeThatItIsGiven) {
  const CommandResult result = compare(synthetic(3) + null_writer(),
                                       {"--vary", "write.link.chunks=1,2", "--repeats", "50", "--max-time", "1 ms"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(report().at("blocks").size(), 1U);
  EXPECT_THAT(result.out, HasSubstr("ended early: after 1 of 50 repeats"));
  EXPECT_EQ(report().at("arms").at(2).at("verdict"), "inconclusive") << "one repeat says nothing";
}

TEST_F(Compare, GoesOnWhereItWasKilled) {
  const std::string config = synthetic(4, "interval = \"20 ms\"") + raw_writer();
  std::vector<std::string> words =
      arguments(config, {"--vary", "write.link.chunks=1,2", "--repeats", "4", "--seed", "3"});
  const auto mode = std::find(words.begin(), words.end(), "off");
  *mode = "plain";
  {
    Command first(words);
    ASSERT_TRUE(first.wait_for_error_text("repeat 2 of 4: "));
    first.send(SIGKILL);
    EXPECT_EQ(first.wait().signal, SIGKILL);
  }
  *mode = "off";
  const std::size_t kept = journal_lines() - 1;
  ASSERT_GE(kept, 4U);
  const std::string torn = contents_of(journal()) + "{\"arm\":1,\"run\":{\"blo";
  directory_.write("r.json.journal", torn);
  const json before =
      json::parse(torn.substr(torn.find('\n') + 1, torn.find('\n', torn.find('\n') + 1) - torn.find('\n') - 1));

  auto other = words;
  other.back() = "4";
  const CommandResult refused = test::run_millrace(other);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the journal of another experiment: the seed was 3 and is 4"));

  const CommandResult second = test::run_millrace(words);
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err_lines(), ElementsAre(HasSubstr("continues at repeat ")));
  EXPECT_THAT(second.err, HasSubstr(" of 4, with " + std::to_string(kept) + " runs of "));
  const json stored = report();
  EXPECT_EQ(stored.at("blocks").size(), 4U);
  EXPECT_EQ(stored.at("arms").at(before.at("arm").get<std::size_t>()).at("runs").at(0), before.at("run"));
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(Compare, StopsItsRunWhenInterruptedAndSaysHowToGoOn) {
  const std::string config = synthetic(1000, "interval = \"20 ms\"") + raw_writer();
  const auto words = arguments(config, {"--vary", "write.link.chunks=1,2"});
  const test::DirectoryWatch watch(directory_.path());
  Command command(words);
  ASSERT_TRUE(watch.wait_for_write());
  command.send(SIGINT);
  const CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err_lines(), ElementsAre(HasSubstr("interrupted in repeat 1 of 6; the same command goes on")));
  EXPECT_TRUE(std::filesystem::exists(journal()));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "out")) << "the run discarded what it had";
}

TEST_F(Compare, RefusesAColdCacheWhereNothingIsRead) {
  const CommandResult result =
      compare(synthetic(3) + null_writer(), {"--vary", "write.link.chunks=1,2", "--cache", "cold"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no stage reads any"));
}

TEST_F(Compare, ReadsColdFilesAndSaysWhatWasCached) {
  const CommandResult result =
      compare(reading(null_writer()), {"--vary", "read.via.advice=none,random", "--repeats", "2"});
  if (result.exit_code == 2) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(report().at("cache"), "cold");
  const json stored = report();
  for (const auto& arm : stored.at("arms")) {
    for (const auto& run : arm.at("runs")) {
      const double cached =
          std::max(run.at("cache_resident_before").get<double>(), run.at("cache_resident_at_read").get<double>());
      EXPECT_EQ(run.at("excluded").get<bool>(), cached > 0.01);
    }
  }
}

TEST_F(Compare, PutsReportsOfOneExperimentTogether) {
  const std::string other = (directory_ / "other.json").string();
  const std::vector<std::string> varying{"--vary", "write.link.chunks=1,2", "--repeats", "2"};
  ASSERT_EQ(compare(synthetic(3) + null_writer(), varying).exit_code, 0);
  std::string text = contents_of(report_path());
  const std::string host = report().at("environment").at("host");
  text.replace(text.find("\"host\": \"" + host), 9 + host.size(), "\"host\": \"elsewhere");
  directory_.write("other.json", text);
  const CommandResult result = test::run_millrace({"compare", "--merge", report_path(), other});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 reports of 2 machines"));
  EXPECT_THAT(result.out, HasSubstr("which machine"));
  EXPECT_EQ(test::run_millrace({"compare", "--merge", report_path()}).exit_code, 2);
  EXPECT_EQ(test::run_millrace({"compare", "--merge", report_path(), (directory_ / "p.toml").string()}).exit_code, 2);
  ASSERT_EQ(compare(synthetic(4) + null_writer(), varying).exit_code, 0);
  EXPECT_THAT(test::run_millrace({"compare", "--merge", report_path(), other}).err,
              HasSubstr("it is of another config"));
}

TEST_F(Compare, RefusesWhatIsNoExperiment) {
  EXPECT_THAT(compare(reading(), {}).err, HasSubstr("there is nothing to compare"));
  EXPECT_THAT(compare(reading(), {"--vary", "read.via.advice"}).err, HasSubstr("write --vary stage.key=a,b"));
  EXPECT_THAT(compare(reading(), {"--vary", "reed.slots=1,2"}).err, HasSubstr("did you mean 'read'?"));
  EXPECT_EQ(compare(reading(), {"--vary", "read.slots=1,2", "--report", "/no/where/r.json"}).exit_code, 2);
  const CommandResult pipe = test::run_millrace({"compare", "/dev/null", "--vary", "a.b=1,2"});
  EXPECT_EQ(pipe.exit_code, 2);
  EXPECT_THAT(pipe.err, HasSubstr("so it must be a file"));
}

}  // namespace
}  // namespace millrace
