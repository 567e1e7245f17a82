#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::CommandResult;
using test::contents_of;
using test::run_millrace;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GenerateCommand, WritesRawBytesOfTheSizeWanted) {
  const test::TempDirectory directory;
  const std::string file = (directory / "x.raw").string();
  const CommandResult result = run_millrace({"generate", "raw", file, "--bytes", "100kB", "--seed", "7"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, file + ": 97.7 KiB\n");
  EXPECT_EQ(std::filesystem::file_size(file), 100'000U);
}

TEST(GenerateCommand, WritesTheSameReadsForTheSameSeed) {
  const test::TempDirectory directory;
  for (const char* const name : {"a", "b"}) {
    const CommandResult result =
        run_millrace({"generate", "nanopore", (directory / (std::string(name) + ".fast5")).string(), "--reads", "2",
                      "--genome-bases", "20000", "--mean-read-bases", "300", "--seed", "5"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("2 reads"));
  }
  EXPECT_THAT(directory.names(), ElementsAre("a.fast5", "a.truth.fasta", "b.fast5", "b.truth.fasta"));
  EXPECT_EQ(contents_of(directory / "a.truth.fasta"), contents_of(directory / "b.truth.fasta"));
}

TEST(GenerateCommand, NamesAnOutputThatCannotBeMade) {
  const CommandResult result = run_millrace({"generate", "raw", "/nowhere/x.raw", "--bytes", "1kB"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err_lines(), ElementsAre(HasSubstr("/nowhere")));
}

}  // namespace
}  // namespace millrace
