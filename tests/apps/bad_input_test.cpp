// What goes wrong for a user, from the outside: one line on standard error, the exit code, and nothing left behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/slow5_files.h"
#include "tests/support/small_disk.h"
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
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kPlugin = test::build_dir().string() + "/tests/plugins/misbehaving.so";

class BadInput : public testing::Test {
 protected:
  BadInput() { std::filesystem::create_directory(directory_ / "out"); }

  CommandResult run(const std::string& config, const std::vector<std::string>& more = {},
                    Command::Settings settings = {}) const {
    std::vector<std::string> arguments{"run", directory_.write("p.toml", config).string(), "--progress", "off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_millrace(arguments, std::move(settings));
  }
  std::string config_path() const { return (directory_ / "p.toml").string(); }
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  static void expect_one_line(const CommandResult& result, int exit_code, const std::string& text) {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_FALSE(result.timed_out);
    EXPECT_THAT(result.err_lines(), ElementsAre(AllOf(StartsWith("millrace: error: "), HasSubstr(text))));
  }

  test::TempDirectory directory_;
};

std::string raw_reader(const std::string& path, const std::string& more = "") {
  return stage("read", "raw_reader", "path = \"" + path + "\"\n" + more);
}

TEST_F(BadInput, MissingConfig) {
  expect_one_line(test::run_millrace({"run", "/nowhere/p.toml"}), 2,
                  "/nowhere/p.toml: cannot open the config: No such file or directory");
}

TEST_F(BadInput, EmptyConfig) { expect_one_line(run(""), 2, config_path() + ":1:1: there is no [[stage]]"); }

TEST_F(BadInput, UnknownKey) {
  expect_one_line(run(synthetic(1) + stage("write", "null_writer", "levle = 3")), 2,
                  config_path() + ":11:1: stage 'write': 'null_writer' has no option 'levle'");
}

TEST_F(BadInput, UnknownStage) {
  expect_one_line(
      run(synthetic(1) + stage("write", "nul_writer")), 2,
      config_path() + ":10:1: stage 'write': there is no stage type 'nul_writer'; did you mean 'null_writer'?");
}

TEST_F(BadInput, TwoStagesOfOneName) {
  expect_one_line(run(synthetic(1) + stage("read", "null_writer")), 2, "two stages are called 'read'");
}

TEST_F(BadInput, UnconnectedStage) {
  expect_one_line(run(synthetic(1) + null_writer() + stage("other", "spin", "from = \"read\"")), 2,
                  "nobody reads from 'other'");
}

TEST_F(BadInput, Cycle) {
  expect_one_line(
      run(synthetic(1) + stage("a", "spin", "from = [\"read\", \"b\"]") + stage("b", "spin") + null_writer()), 2,
      "the stages form a cycle: ");
}

TEST_F(BadInput, SlotsOfAStageThatIsNotParallel) {
  expect_one_line(run(synthetic(1) + raw_writer("slots = 2")), 2,
                  config_path() + ":12:1: stage 'write': 'raw_writer' handles its chunks one after the other");
}

TEST_F(BadInput, WrongChainOfTypes) {
  expect_one_line(run(synthetic(1) + stage("decode", "decode_signal") + null_writer()), 2, "stage 'decode': needs ");
}

TEST_F(BadInput, MemoryBudgetTooSmall) {
  const std::string config = "[pipeline]\nmemory = \"1 MiB\"\n" + synthetic(1) + null_writer();
  expect_one_line(run(config), 2, config_path() + ":2:1: the plan needs 1.12 MiB, the budget 'memory' is 1.00 MiB");
  const CommandResult check = test::run_millrace({"check", config_path()});
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_THAT(check.out, HasSubstr("min(64.0 MiB, 16 x 64.0 KiB) + 1 slot x 64.0 KiB"));
}

TEST_F(BadInput, UnknownPlugin) {
  expect_one_line(run(synthetic(1) + null_writer(), {"--plugin", "/nowhere/x.so"}), 2, "/nowhere/x.so: ");
}

TEST_F(BadInput, PluginThatIsNoSharedObject) {
  const auto file = directory_.write("x.so", "hello");
  expect_one_line(run(synthetic(1) + null_writer(), {"--plugin", file.string()}), 2, file.string() + ": ");
}

TEST_F(BadInput, MissingInput) {
  const auto report = directory_ / "r.json";
  const CommandResult result = run(raw_reader("in.raw") + raw_writer(), {"--report", report.string()});
  expect_one_line(result, 1, "stage 'read', " + (directory_ / "in.raw").string() + ": ");
  EXPECT_THAT(outputs(), IsEmpty());
  const json stored = json::parse(contents_of(report));
  EXPECT_EQ(stored.at("status"), "failed") << "also of a run that could not begin";
  EXPECT_THAT(stored.at("error").get<std::string>(), HasSubstr("in.raw"));
}

TEST_F(BadInput, UnreadableInput) {
  const auto input = directory_.write("in.raw", "xxxx");
  std::filesystem::permissions(input, std::filesystem::perms::none);
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(directory_ / "out", std::filesystem::perms::all);
  Command::Settings settings;
  settings.unprivileged = true;
  expect_one_line(run(raw_reader("in.raw") + raw_writer(), {}, settings), 1,
                  "in.raw: cannot open for reading: Permission denied");
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(BadInput, EmptyInputFileIsAnEmptyStream) {
  directory_.write("in.raw", "");
  const CommandResult result = run(raw_reader("in.raw") + raw_writer());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::filesystem::file_size(directory_ / "out/result.raw"), 0U);
}

TEST_F(BadInput, EmptyFast5) {
  directory_.write("in.fast5", "");
  expect_one_line(run(stage("read", "fast5_reader", "path = \"in.fast5\"") + null_writer()), 1,
                  "in.fast5, offset 0: is empty");
}

TEST_F(BadInput, CorruptFast5) {
  directory_.write("in.fast5", "\x89HDF\r\n\x1a\n" + std::string(4096, '\x5a'));
  expect_one_line(run(stage("read", "fast5_reader", "path = \"in.fast5\"") + null_writer()), 1, "in.fast5: ");
}

TEST_F(BadInput, EmptyBlow5) {
  directory_.write("in.blow5", "");
  expect_one_line(run(stage("read", "slow5_reader", "path = \"in.blow5\"") + null_writer()), 1, "in.blow5: is empty");
}

TEST_F(BadInput, Blow5ThatIsStillBeingWritten) {
  const std::string whole = test::slow5_file({}, test::slow5_reads());
  directory_.write("in.blow5", whole.substr(0, whole.size() - 5));
  expect_one_line(run(stage("read", "slow5_reader", "path = \"in.blow5\"") + null_writer()), 1,
                  "in.blow5, offset " + std::to_string(whole.size() - 5) + ": has no end mark");
}

TEST_F(BadInput, OneBadBlow5AmongGoodOnes) {
  directory_.write("in/a.blow5", test::slow5_file({}, test::slow5_reads(1)));
  directory_.write("in/b.blow5", "");
  directory_.write("in/c.blow5", test::slow5_file({}, test::slow5_reads(2)));
  const std::string skipping = stage("read", "slow5_reader", "path = \"in\"\non_bad_file = \"skip\"") + null_writer();
  const auto report = directory_ / "r.json";
  expect_one_line(run(stage("read", "slow5_reader", "path = \"in\"") + null_writer()), 1, "b.blow5: is empty");
  EXPECT_EQ(run(skipping, {"--report", report.string()}).exit_code, 3) << "something was lost, and no budget says so";
  const json loss = json::parse(contents_of(report)).at("loss");
  EXPECT_EQ(loss.at("read"), 15);
  EXPECT_EQ(loss.at("written"), 14);
  EXPECT_EQ(loss.at("dropped").at(0).at("reason"), "bad file");
  EXPECT_EQ(run("[pipeline]\nloss_budget = 1\n" + skipping).exit_code, 0);
}

TEST_F(BadInput, InputTruncatedWhileItIsRead) {
  directory_.write("in.raw", std::string(1 << 20, 'x'));
  const CommandResult result =
      run(raw_reader("in.raw", "via = { block = \"64 KiB\", inject = \"truncate\", inject_at = \"512 KiB\" }") +
          raw_writer());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err_lines(),
              ElementsAre(AllOf(HasSubstr("stage 'read', chunk 8, "), HasSubstr("in.raw, offset "))));
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(BadInput, DeviceThatFailsToRead) {
  directory_.write("in.raw", std::string(1 << 20, 'x'));
  const CommandResult result = run(
      raw_reader("in.raw", "via = { block = \"64 KiB\", inject = \"eio\", inject_at = \"512 KiB\" }") + raw_writer());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err_lines(), ElementsAre(EndsWith("Input/output error")));
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(BadInput, OutputDirectoryMissing) {
  expect_one_line(run(synthetic(1) + raw_writer(), {"--set", "write.path=none/result.raw"}), 1,
                  "stage 'write', " + (directory_ / "none").string());
}

TEST_F(BadInput, OutputDirectoryReadOnly) {
  std::filesystem::permissions(directory_.path(),
                               std::filesystem::perms::others_exec | std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  Command::Settings settings;
  settings.unprivileged = true;
  expect_one_line(run(synthetic(1) + raw_writer(), {}, settings), 1, "Permission denied");
}

TEST_F(BadInput, OutputThatIsADirectory) {
  expect_one_line(run(synthetic(1) + raw_writer(), {"--set", "write.path=out"}), 1, (directory_ / "out").string());
}

TEST_F(BadInput, DiskFull) {
  const test::SmallDisk disk(1 << 20);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const CommandResult result =
      run(synthetic(100) + raw_writer(), {"--set", "write.path=" + (disk.directory() / "result.raw").string(),
                                          "--report", (directory_ / "r.json").string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err_lines(),
              ElementsAre(AllOf(StartsWith("millrace: error: stage 'write', "), EndsWith("No space left on device"))));
  EXPECT_THAT(disk.directory().names(), IsEmpty()) << "no partial output, no temporary file";
  EXPECT_EQ(json::parse(contents_of(directory_ / "r.json")).at("status"), "failed");
}

TEST_F(BadInput, ReportDirectoryMissingIsToldBeforeTheRun) {
  expect_one_line(run(synthetic(1) + raw_writer(), {"--report", (directory_ / "none/r.json").string()}), 2,
                  (directory_ / "none").string());
  EXPECT_THAT(outputs(), IsEmpty());
}

struct Thrown {
  const char* what;
  const char* message;
};
void PrintTo(const Thrown& thrown, std::ostream* out) { *out << thrown.what; }

class StageThatThrows : public BadInput, public testing::WithParamInterface<Thrown> {};

TEST_P(StageThatThrows, EndsTheRunWithItsNameAndChunk) {
  const CommandResult result =
      run(synthetic(1000) + stage("bad", "throw", std::string("what = \"") + GetParam().what + "\"") + raw_writer(),
          {"--plugin", kPlugin});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err_lines(),
              ElementsAre(AllOf(StartsWith("millrace: error: stage 'bad', chunk 3"), HasSubstr(GetParam().message))));
  EXPECT_THAT(outputs(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Table, StageThatThrows,
                         testing::Values(Thrown{"error", ", /data/x.raw, offset 17: the sample is out of range"},
                                         Thrown{"memory", ": out of memory"}, Thrown{"lines", "one line and another"},
                                         Thrown{"number", ""}));

TEST_F(BadInput, StageThatHangsIsNamedByTheWatchdog) {
  const CommandResult result =
      run("[pipeline]\nstall_timeout = \"1 s\"\n" + synthetic(1000) + stage("bad", "hang", "at = 5") + raw_writer(),
          {"--plugin", kPlugin, "--report", (directory_ / "r.json").string()});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.signal, 0);
  EXPECT_THAT(result.err, HasSubstr("\nmillrace: error: did not come back from its call: bad\n"));
  EXPECT_THAT(outputs(), IsEmpty()) << "temporary files are removed although the stage is still in its call";
  EXPECT_EQ(json::parse(contents_of(directory_ / "r.json")).at("status"), "stalled");
}

TEST_F(BadInput, SourceThatIsSlowIsNotTakenForAStall) {
  const CommandResult result =
      run("[pipeline]\nstall_timeout = \"30 s\"\n" + synthetic(3, "interval = \"100 ms\"") + null_writer());
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace millrace
