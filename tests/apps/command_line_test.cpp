#include "apps/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace millrace {
namespace {

using test::Command;
using test::CommandResult;
using test::run_millrace;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Usage {
  std::vector<std::string> arguments;
  std::string error;
};
void PrintTo(const Usage& usage, std::ostream* out) {
  for (const auto& argument : usage.arguments) *out << argument << ' ';
}

class CommandLineRefuses : public testing::TestWithParam<Usage> {};

TEST_P(CommandLineRefuses, InOneLineWithExitCode2) {
  const CommandResult result = run_millrace(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "millrace: error: " + GetParam().error + "\n");
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, CommandLineRefuses,
    testing::Values(
        Usage{{}, "A subcommand is required (`millrace --help` shows how)"},
        Usage{{"rnu", "x.toml"}, "there is no command 'rnu'; did you mean 'run'?"},
        Usage{{"compare"}, "compare needs a CONFIG, or --merge with reports"},
        Usage{{"--versoin"}, "millrace has no option '--versoin'; did you mean '--version'?"},
        Usage{{"run"}, "CONFIG is required (`millrace run --help` shows how)"},
        Usage{{"run", "x.toml", "--reprot", "r.json"},
              "millrace run has no option '--reprot'; did you mean '--report'?"},
        Usage{{"run", "x.toml", "--trace", "r.json"}, "millrace run has no option '--trace'"},
        Usage{{"report", "a.json", "b.json", "--fail-on-slower", "5"},
              "--fail-on-slower: a share like 5% or 0.05, not '5' (`millrace report --help` shows how)"},
        Usage{{"run", "a.toml", "b.toml"}, "millrace run has no place for 'b.toml'"},
        Usage{{"run", "x.toml", "--progress", "loud"},
              "--progress: loud not in {auto,plain,off} (`millrace run --help` shows how)"},
        Usage{{"generate"}, "A subcommand is required (`millrace generate --help` shows how)"},
        Usage{{"generate", "raw", "x", "--bytes", "many"},
              "--bytes: a size with its unit, like 200MiB, not 'many' (`millrace generate raw --help` shows how)"},
        Usage{{"generate", "nanopore", "x", "--reads", "-3"},
              "--reads: a number from 0, not -3 (`millrace generate nanopore --help` shows how)"},
        Usage{{"stages", "raw_raeder"}, "there is no stage type 'raw_raeder'; did you mean 'raw_reader'?"}));

struct Help {
  std::vector<std::string> arguments;
  std::string example;
};
void PrintTo(const Help& help, std::ostream* out) { *out << help.example; }

class HelpText : public testing::TestWithParam<Help> {};

TEST_P(HelpText, HasAnExampleAndFitsTheScreen) {
  const CommandResult result = run_millrace(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("Example:\n  " + GetParam().example));
  EXPECT_THAT(result.err, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, HelpText,
                         testing::Values(Help{{"--help"}, "millrace check "}, Help{{"run", "--help"}, "millrace run "},
                                         Help{{"check", "-h"}, "millrace check "},
                                         Help{{"stages", "--help"}, "millrace stages "},
                                         Help{{"report", "--help"}, "millrace report "},
                                         Help{{"explain", "--help"}, "millrace explain "},
                                         Help{{"generate", "--help"}, "millrace generate "},
                                         Help{{"generate", "nanopore", "--help"}, "millrace generate nanopore "},
                                         Help{{"generate", "raw", "--help"}, "millrace generate raw "},
                                         Help{{"bench", "--help"}, "millrace bench link"},
                                         Help{{"bench", "link", "--help"}, "millrace bench link "}));

TEST(HelpTextOfTheProgram, NamesWhatWorksAndNothingElse) {
  const std::string help = run_millrace({"--help"}).out;
  for (const char* const command :
       {"run", "check", "compare", "explain", "stages", "report", "inspect", "generate", "bench"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + command + " "));
  }
  const std::string run_help = run_millrace({"run", "--help"}).out;
  for (const char* const later : {"bench io", "--trace", "--metrics"}) {
    EXPECT_THAT(help, Not(HasSubstr(later)));
    EXPECT_THAT(run_help, Not(HasSubstr(later)));
  }
}

TEST(Version, NamesTheFeaturesOfTheBuild) {
  const CommandResult result = run_millrace({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("millrace " MILLRACE_VERSION "\n"));
  for (const char* const line : {"\nbuilt: ", "\nplugin ABI: ", "\ntransports: ", "\nformats: "}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
}

class StandardOutput : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(StandardOutput, ThatCannotBeWrittenIsAnErrorInOneLine) {
  Command::Settings settings;
  settings.output = GetParam().first;
  const CommandResult result = run_millrace({"stages"}, settings);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.err, "millrace: error: cannot write to standard output: " + GetParam().second + "\n");
}

INSTANTIATE_TEST_SUITE_P(Table, StandardOutput,
                         testing::Values(std::pair("/dev/full", "No space left on device"),
                                         std::pair("closed", "Bad file descriptor"),
                                         std::pair("broken", "Broken pipe")));

}  // namespace
}  // namespace millrace
