#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

class Run : public testing::Test {
 protected:
  Run() { std::filesystem::create_directory(directory_ / "out"); }

  CommandResult run(const std::string& config, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"run", directory_.write("p.toml", config).string(), "--progress", "off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_millrace(arguments);
  }
  json report() const { return json::parse(contents_of(directory_ / "r.json")); }
  std::string report_path() const { return (directory_ / "r.json").string(); }
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out")) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  test::TempDirectory directory_;
};

TEST_F(Run, PrintsTheReportOnStandardOutputAndNothingElse) {
  const CommandResult result = run("[pipeline]\nname = \"small\"\n" + synthetic(20) + raw_writer());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("small"));
  EXPECT_THAT(result.out, HasSubstr("closure error"));
  EXPECT_THAT(result.out, HasSubstr("verdict:"));
  EXPECT_THAT(result.out, Not(HasSubstr("\033["))) << "no colours in a pipe";
  EXPECT_THAT(outputs(), ElementsAre("result.raw"));
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/result.raw"), 20U * 65536);
}

TEST_F(Run, WritesTheReportFileWithTheFactsOfThisMachine) {
  const auto input = directory_.write("in.raw", std::string(300'000, 'x'));
  const CommandResult result =
      run(stage("read", "raw_reader", "path = \"in.raw\"") + raw_writer(), {"--report", report_path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json stored = report();
  EXPECT_EQ(stored.at("schema"), "millrace.run/1");
  EXPECT_EQ(stored.at("status"), "ok");
  EXPECT_EQ(stored.at("command").at(1), "run");
  EXPECT_EQ(stored.at("config").at("stage").at(0).at("path"), "in.raw");
  const json& environment = stored.at("environment");
  EXPECT_NE(environment.at("host"), "");
  EXPECT_EQ(environment.at("millrace_version"), MILLRACE_VERSION);
  EXPECT_GE(environment.at("cpus").get<int>(), 1);
  EXPECT_GT(environment.at("memory_bytes").get<std::uint64_t>(), 1U << 20);
  ASSERT_EQ(environment.at("paths").size(), 2U) << "input and output";
  EXPECT_EQ(environment.at("paths").at(0).at("path"), std::filesystem::canonical(input).string());
  EXPECT_NE(environment.at("paths").at(0).at("fs"), "");
  EXPECT_EQ(stored.at("cache").at("input_bytes"), 300'000);
  EXPECT_EQ(stored.at("outputs").at(0).at("bytes"), 300'000);
  EXPECT_EQ(stored.at("loss").at("in_flight"), 0);
  EXPECT_LE(stored.at("closure_error").get<double>(), 0.005);
}

TEST_F(Run, ExplainsTheVerdictOnRequest) {
  EXPECT_THAT(run(synthetic(20) + null_writer(), {"--explain"}).out, HasSubstr("\nrule: "));
}

TEST_F(Run, TakesOverridesInAnyPlace) {
  const CommandResult result =
      run(synthetic(20) + raw_writer(), {"--set", "read.chunks=3", "--set", "write.path=out/other.raw"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/other.raw"), 3U * 65536);
}

TEST_F(Run, OfZeroChunksWritesAnEmptyOutput) {
  const CommandResult result = run(synthetic(0) + stage("work", "spin") + raw_writer());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/result.raw"), 0U);
}

TEST_F(Run, OfOneChunkWritesIt) {
  const CommandResult result = run(synthetic(1) + stage("work", "spin", "slots = 3") + raw_writer());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/result.raw"), 65536U);
}

TEST_F(Run, PassesAChunkLargerThanTheLinksByteBound) {
  const CommandResult result = run(synthetic(10) + raw_writer("link = { chunks = 4, bytes = \"1 KiB\" }"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/result.raw"), 10U * 65536);
}

TEST_F(Run, HasTheSameOutputForAnySlotsAndLinks) {
  const std::string config = synthetic(40) + stage("encode", "encode_zstd") + raw_writer();
  ASSERT_EQ(run(config).exit_code, 0);
  const std::string wanted = contents_of(directory_ / "out/result.raw");
  for (const char* const change :
       {"encode.slots=4", "encode.link.chunks=1", "write.link.chunks=1", "pipeline.threads=1"}) {
    ASSERT_EQ(run(config, {"--set", change, "--set", "encode.slots=2"}).exit_code, 0) << change;
    EXPECT_EQ(contents_of(directory_ / "out/result.raw"), wanted) << change;
  }
}

TEST_F(Run, FansOutAndIn) {
  const CommandResult result = run(synthetic(30) + stage("left", "spin") + stage("right", "spin", "from = \"read\"") +
                                       stage("write", "null_writer", "from = [\"left\", \"right\"]"),
                                   {"--report", report_path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(report().at("stages").at(3).at("chunks_in"), 60);
}

TEST_F(Run, EndsWithItsOwnCodeWhenMoreIsDroppedThanAllowed) {
  const std::string config =
      synthetic(200) + stage("slow", "spin", "busy = \"2 ms\"\nwhen_full = \"drop_newest\"\nlink = { chunks = 1 }") +
      null_writer();
  const CommandResult result = run(config, {"--report", report_path()});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("chunks were dropped, the loss budget is 0\n"));
  EXPECT_EQ(report().at("status"), "ok");
  EXPECT_GT(report().at("links").at(0).at("dropped").get<int>(), 0);
  EXPECT_EQ(run(config, {"--set", "pipeline.loss_budget=200"}).exit_code, 0);
}

TEST_F(Run, ShowsPlainProgressEveryFewSecondsOnly) {
  const CommandResult result = run(synthetic(20) + null_writer(), {"--progress", "plain"});
  EXPECT_EQ(result.exit_code, 2) << "--progress may be given once";
  const auto config = directory_.write("p.toml", synthetic(20) + null_writer());
  EXPECT_THAT(test::run_millrace({"run", config.string(), "--progress", "plain"}).err, IsEmpty());
  EXPECT_THAT(test::run_millrace({"run", config.string()}).err, IsEmpty());
}

TEST_F(Run, TellsAStandardOutputThatIsGoneAndStillWritesTheReportFile) {
  const auto config = directory_.write("p.toml", synthetic(5) + raw_writer());
  Command::Settings settings;
  settings.output = "broken";
  const CommandResult result =
      test::run_millrace({"run", config.string(), "--progress", "off", "--report", report_path()}, settings);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "millrace: error: cannot write to standard output: Broken pipe\n");
  EXPECT_EQ(report().at("status"), "ok");
}

}  // namespace
}  // namespace millrace
