#include "apps/signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::Command;
using test::CommandResult;
using test::contents_of;
using test::raw_writer;
using test::stage;
using test::synthetic;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kPlugin = test::build_dir().string() + "/tests/plugins/misbehaving.so";

/// An endless run that has begun: its output is being written.
class Signals : public testing::Test {
 protected:
  Signals() { std::filesystem::create_directory(directory_ / "out"); }

  std::vector<std::string> arguments(const std::string& config) const {
    return {"run",        directory_.write("p.toml", config).string(),
            "--progress", "off",
            "--report",   (directory_ / "r.json").string()};
  }
  std::string endless(const std::string& middle = "") const {
    return synthetic(1'000'000'000, "interval = \"1 ms\"") + middle + raw_writer("via = { fsync = \"never\" }");
  }
  json report() const { return json::parse(contents_of(directory_ / "r.json")); }
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  test::TempDirectory directory_;
};

class DrainingSignals : public Signals, public testing::WithParamInterface<int> {};

TEST_P(DrainingSignals, OnceFinishesWhatIsInFlightAndKeepsItAsPartial) {
  const test::DirectoryWatch watch(directory_ / "out");
  Command command(arguments(endless()));
  ASSERT_TRUE(watch.wait_for_write());
  command.send(GetParam());
  const CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("millrace: interrupted: finishing what is in flight"));
  EXPECT_THAT(result.out, HasSubstr("verdict:"));
  EXPECT_THAT(outputs(), ElementsAre("result.raw.partial"));
  const json stored = report();
  EXPECT_EQ(stored.at("status"), "interrupted");
  EXPECT_EQ(stored.at("loss").at("in_flight"), 0);
  EXPECT_EQ(stored.at("loss").at("read"), stored.at("loss").at("written")) << "nothing that was read is lost";
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/result.raw.partial"),
            stored.at("stages").at(1).at("bytes_in").get<std::uint64_t>());
}

INSTANTIATE_TEST_SUITE_P(Table, DrainingSignals, testing::Values(SIGINT, SIGTERM));

TEST_F(Signals, TwiceStopsNowAndCountsWhatIsThrownAway) {
  const test::DirectoryWatch watch(directory_ / "out");
  // Behind the writer's first chunk everything sleeps for an hour, so that draining alone would not end.
  Command command(arguments(endless(stage("slow", "spin", "burst_every = 8\nburst_sleep = \"1 h\""))));
  ASSERT_TRUE(watch.wait_for_write());
  command.send(SIGINT);
  ASSERT_TRUE(command.wait_for_error_text("finishing what is in flight"));
  command.send(SIGTERM);
  const CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("millrace: stopping now"));
  EXPECT_THAT(outputs(), IsEmpty()) << "partial outputs of a run that was stopped are removed";
  EXPECT_EQ(report().at("status"), "interrupted");
  EXPECT_EQ(report().at("loss").at("in_flight"), 0);
}

TEST_F(Signals, TwiceEndsEvenARunWhoseStageNeverComesBack) {
  const test::DirectoryWatch watch(directory_ / "out");
  auto words = arguments(endless(stage("bad", "hang", "at = 8")));
  words.insert(words.end(), {"--plugin", kPlugin});
  Command command(words);
  ASSERT_TRUE(watch.wait_for_write());
  command.send(SIGINT);
  ASSERT_TRUE(command.wait_for_error_text("finishing what is in flight"));
  command.send(SIGINT);
  const CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("millrace: error: did not come back from its call: bad\n"));
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(Signals, ThreeTimesEndsAtOnceWithoutLeavingTemporaryFiles) {
  const test::DirectoryWatch watch(directory_ / "out");
  auto words = arguments(endless(stage("bad", "hang", "at = 8")));
  words.insert(words.end(), {"--plugin", kPlugin});
  Command command(words);
  ASSERT_TRUE(watch.wait_for_write());
  for (const char* const answer : {"finishing what is in flight", "stopping now", "ended by the third signal"}) {
    command.send(SIGINT);
    ASSERT_TRUE(command.wait_for_error_text(answer));
  }
  EXPECT_EQ(command.wait().exit_code, 130);
  EXPECT_THAT(outputs(), IsEmpty());
}

}  // namespace
}  // namespace millrace
