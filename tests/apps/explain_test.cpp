#include "apps/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
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

class Explain : public testing::Test {
 protected:
  Explain() { std::filesystem::create_directory(directory_ / "out"); }

  std::vector<std::string> arguments(const std::string& config, const std::vector<std::string>& more) const {
    std::vector<std::string> result{"explain", directory_.write("p.toml", config).string()};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  CommandResult explain(const std::string& config, const std::vector<std::string>& more = {"--repeats", "1"}) const {
    return test::run_millrace(arguments(config, more));
  }
  json explained(const std::string& config, std::vector<std::string> more = {"--repeats", "1"}) const {
    more.insert(more.end(), {"--json", (directory_ / "e.json").string()});
    const CommandResult result = explain(config, more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(contents_of(directory_ / "e.json"));
  }
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  test::TempDirectory directory_;
};

double ratio_of(const json& ladder, const std::string& kind) {
  for (const json& rung : ladder.at("rungs")) {
    if (rung.at("kind") == kind) return rung.at("ratio").get<double>();
  }
  ADD_FAILURE() << "no rung " << kind;
  return 0;
}

// A reader that waits 20 ms for each of 30 blocks, and nothing else to do: no machine is so busy that it were not so.
std::string slow_reader() {
  return stage("read", "raw_reader", "path = \"in.raw\"\nvia = { block = \"1 KiB\", latency = \"20 ms\" }\n");
}

TEST_F(Explain, FindsASlowReaderAndAgreesWithTheVerdict) {
  directory_.write("in.raw", std::string(30 << 10, 'x'));
  const std::string config = "[pipeline]\nname = \"slow\"\n" + slow_reader() + stage("work", "spin") + raw_writer();
  const json ladder = explained(config);
  EXPECT_EQ(ladder.at("schema"), "millrace.explain/1");
  EXPECT_EQ(ladder.at("finding").at("limit"), "reading");
  EXPECT_EQ(ladder.at("verdict").at("kind"), "io-read");
  EXPECT_EQ(ladder.at("agreement").at("kind"), "agree");
  EXPECT_GT(ratio_of(ladder, "reading free"), 2);
  EXPECT_EQ(ladder.at("cache"), "1 input kept warm");
  EXPECT_THAT(outputs(), IsEmpty()) << "it leaves nothing";

  const CommandResult result = explain(config);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("by experiment: reading limits."));
  EXPECT_THAT(result.out, HasSubstr("they agree"));
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(Explain, LeavesOutputsFromBeforeAsTheyAre) {
  directory_.write("out/result.raw", "from before");
  directory_.write("out/result.raw.partial", "an interrupted run");
  EXPECT_EQ(explain(synthetic(50) + raw_writer()).exit_code, 0);
  EXPECT_EQ(contents_of(directory_ / "out/result.raw"), "from before");
  EXPECT_EQ(contents_of(directory_ / "out/result.raw.partial"), "an interrupted run");
  EXPECT_EQ(outputs().size(), 2U);
}

TEST_F(Explain, ARunThatIsEndedByItsTimeLeavesNothingEither) {
  const json ladder =
      explained(synthetic(1'000'000, "interval = \"2 ms\"\n") + raw_writer(), {"--repeats", "1", "--seconds", "1"});
  EXPECT_GT(ladder.at("rungs").at(0).at("rate").get<double>(), 0);
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(Explain, AFailureIsOneLineAndLeavesNothing) {
  directory_.write("in.raw", std::string(60 << 10, 'x'));
  const CommandResult result =
      explain(stage("read", "raw_reader",
                    "path = \"in.raw\"\nvia = { block = \"1 KiB\", inject = \"eio\", inject_at = \"30 KiB\" }\n") +
              raw_writer());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err_lines().size(), 1U) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the recorded run failed: stage 'read'"));
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(Explain, ConfigErrorsAreThoseOfARun) {
  const CommandResult result = explain(synthetic(5) + stage("write", "raw_writer", "path = \"missing/result.raw\"\n"));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.err_lines().size(), 1U) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("millrace-explain"))) << "outputs are called as in the config";

  EXPECT_EQ(explain("[[stage]]\nname = \"read\"\n").exit_code, 2);
  EXPECT_EQ(explain(synthetic(5) + null_writer(), {"--repeats", "0"}).exit_code, 2);
  EXPECT_EQ(explain(synthetic(5) + null_writer(), {"--seconds", "0"}).exit_code, 2);
  EXPECT_EQ(explain(synthetic(5) + null_writer(), {"--cache", "hot"}).exit_code, 2);
}

TEST_F(Explain, AnEmptyInputIsSaidToBeEmpty) {
  directory_.write("in.raw", "");
  const CommandResult result = explain(slow_reader() + null_writer());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("the sources gave no chunk"));
}

TEST_F(Explain, ASignalEndsItAndLeavesNothing) {
  const test::DirectoryWatch watch(directory_ / "out");
  Command command(arguments(synthetic(1'000'000, "interval = \"1 ms\"\n") + raw_writer(), {"--seconds", "60"}));
  ASSERT_TRUE(watch.wait_for_write());
  command.send(SIGINT);
  const CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(outputs(), IsEmpty());
}

}  // namespace
}  // namespace millrace
