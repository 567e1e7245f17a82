// Every command that a README shows is run. In each README of the tree the fenced blocks of language `sh` are run in
// order, as one script that stops at the first failure, in a fresh directory that looks like a built checkout:
// build/millrace is the program, configs/ is a copy, and build/demo has small files under the demo's names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/lint/source_tree.h"
#include "tests/support/places.h"
#include "tests/support/temp_directory.h"

namespace millrace::lint {
namespace {

/// Commands that are not run here: lines of `readme` (any when empty) that begin with `start`, and why. Nothing else
/// is left out.
struct NotRun {
  std::string readme;
  std::string start;
  std::string reason;

  bool covers(const std::string& path, const std::string& command) const {
    return (readme.empty() || readme == path) && command.starts_with(start);
  }
};
const std::vector<NotRun> kNotRun = {
    {"", "./build.sh", "this test runs inside `./build.sh test`; installs packages and builds; CI calls it on its own"},
    {"apps/example_plugin/README.md", "", "tests/apps/example_plugin.sh runs them all, against an installed copy"},
    {"configs/experiments/README.md", "tests/bench/",
     "minutes; ctest runs them with a small file (tests/CMakeLists.txt)"},
    {"configs/experiments/README.md", "build/tests/bench/",
     "ctest runs it with a small file (tests/bench/CMakeLists.txt)"},
    {"tests/support/slowfs/README.md", "", "tests/conformance/slowfs_test.cpp runs them all, where FUSE works"},
};

/// Languages a fenced block may have. No second name for sh, so that no command escapes.
const std::set<std::string> kLanguages = {"sh", "toml", "cpp", "cmake", "json", "text"};

struct Readme {
  std::string path;
  std::vector<std::string> commands;   ///< lines of all sh blocks
  std::vector<std::string> languages;  ///< of all blocks
};

Readme parse(const SourceFile& file) {
  Readme readme{file.path, {}, {}};
  bool inside = false;
  for (const auto& line : file.lines) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) readme.languages.push_back(line.substr(3));
    } else if (inside && readme.languages.back() == "sh") {
      readme.commands.push_back(line);
    }
  }
  return readme;
}

std::vector<Readme> readmes() {
  std::vector<Readme> result;
  for (const auto& file : files_ending_in({".md"})) result.push_back(parse(file));
  return result;
}

bool is_run(const std::string& path, const std::string& command) {
  return std::none_of(kNotRun.begin(), kNotRun.end(), [&](const NotRun& entry) { return entry.covers(path, command); });
}

std::string script_of(const Readme& readme) {
  std::string script;
  for (const auto& command : readme.commands) {
    if (is_run(readme.path, command)) script += command + "\n";
  }
  return script;
}

/// Runs `script` in `directory`; gives its exit status and says what it printed when it is not 0.
int run(const std::filesystem::path& directory, const std::string& script) {
  const test::TempDirectory scratch;
  const auto file = scratch.write("script.sh", "set -eux\ncd '" + directory.string() + "'\n" + script);
  const auto output = scratch / "output.txt";
  const int status = std::system(("bash " + file.string() + " >" + output.string() + " 2>&1 </dev/null").c_str());
  if (status != 0) ADD_FAILURE() << "the commands failed:\n" << test::contents_of(output);
  return status;
}

void make_checkout(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory / "build/demo");
  std::filesystem::create_symlink(test::program(), directory / "build/millrace");
  std::filesystem::copy(test::source_dir() / "configs", directory / "configs",
                        std::filesystem::copy_options::recursive);
  ASSERT_EQ(run(directory,
                "build/millrace generate nanopore build/demo/generated.fast5 --reads 40\n"
                "build/millrace generate nanopore build/demo/real_read.fast5 --reads 1 --seed 2\n"),
            0);
}

TEST(ReadmeCommands, EveryBlockNamesALanguageWithOneSpelling) {
  for (const auto& readme : readmes()) {
    for (const auto& language : readme.languages) {
      EXPECT_TRUE(kLanguages.contains(language)) << readme.path << " has a block of language '" << language << "'";
    }
  }
}

TEST(ReadmeCommands, EveryExceptionIsStillNeeded) {
  const auto all = readmes();
  for (const auto& entry : kNotRun) {
    const bool used = std::any_of(all.begin(), all.end(), [&](const Readme& readme) {
      return std::any_of(readme.commands.begin(), readme.commands.end(),
                         [&](const auto& command) { return entry.covers(readme.path, command); });
    });
    EXPECT_TRUE(used) << "no command is left out because " << entry.reason;
  }
}

class ReadmeCommandsOf : public testing::TestWithParam<Readme> {};

TEST_P(ReadmeCommandsOf, Run) {
  const std::string script = script_of(GetParam());
  if (script.empty()) return;
  const test::TempDirectory directory;
  make_checkout(directory.path());
  EXPECT_EQ(run(directory.path(), script), 0) << GetParam().path;
}

INSTANTIATE_TEST_SUITE_P(Tree, ReadmeCommandsOf, testing::ValuesIn(readmes()), [](const auto& readme) {
  std::string name = readme.param.path;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReadmeCommandsOf);

TEST(ReadmeParser, TakesTheLinesOfShBlocksOnly) {
  const Readme readme =
      parse({"x.md", {"text", "```sh", "a", "b \\", "  c", "```", "```toml", "d = 1", "```", "```sh", "e", "```"}});
  EXPECT_THAT(readme.commands, testing::ElementsAre("a", "b \\", "  c", "e"));
  EXPECT_THAT(readme.languages, testing::ElementsAre("sh", "toml", "sh"));
}

}  // namespace
}  // namespace millrace::lint
