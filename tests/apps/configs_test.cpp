// Every config of configs/ validates and runs, on a small input of the kind that its head names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::CommandResult;
using test::run_millrace;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> config_names() {
  const std::filesystem::path root = test::source_dir() / "configs";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".toml") names.push_back(std::filesystem::relative(entry.path(), root).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Configs : public testing::TestWithParam<std::string> {
 protected:
  Configs() {
    const std::filesystem::path source = test::source_dir();
    std::filesystem::copy(source / "configs", tree_ / "configs", std::filesystem::copy_options::recursive);
    std::filesystem::create_directories(tree_ / "apps");
    std::filesystem::copy(source / "apps/command_example", tree_ / "apps/command_example");
    std::filesystem::create_directories(tree_ / "build/demo");
    for (const char* const name : {"generated.fast5", "generated.pod5", "generated.blow5"}) {
      EXPECT_EQ(run_millrace({"generate", "nanopore", (tree_ / "build/demo" / name).string(), "--reads", "5",
                              "--genome-bases", "20000", "--mean-read-bases", "400"})
                    .exit_code,
                0);
    }
    std::filesystem::create_directories(tree_ / "build/experiments");
    EXPECT_EQ(run_millrace({"generate", "nanopore", (tree_ / "build/experiments/set.pod5").string(), "--reads", "5",
                            "--genome-bases", "20000", "--mean-read-bases", "400"})
                  .exit_code,
              0);
    const std::string raw = (tree_ / "build/experiments/input.raw").string();
    EXPECT_EQ(run_millrace({"generate", "raw", raw, "--bytes", "100kB"}).exit_code, 0);
    EXPECT_EQ(run_millrace({"run", (tree_ / "configs/experiments/make_checksums.toml").string()}).exit_code, 0);
  }

  test::TempDirectory tree_;
};

TEST_P(Configs, ChecksAndRuns) {
  std::vector<std::string> arguments{"check", (tree_ / "configs" / GetParam()).string()};
  if (test::contents_of(arguments[1]).find("\"python3\"") != std::string::npos &&
      std::system("command -v python3 >/dev/null") != 0) {
    GTEST_SKIP() << "there is no python3 here";
  }
  const bool synthetic = test::contents_of(arguments[1]).find("synthetic_reader") != std::string::npos;
  if (synthetic) arguments.insert(arguments.end(), {"--set", "read.chunks=10"});
  const CommandResult check = run_millrace(arguments);
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_THAT(check.err, IsEmpty());
  arguments.front() = "run";
  const CommandResult run = run_millrace(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("verdict:"));
}

INSTANTIATE_TEST_SUITE_P(All, Configs, testing::ValuesIn(config_names()), [](const auto& info) {
  std::string name = info.param.substr(0, info.param.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](char character) { return std::isalnum(character) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace millrace
