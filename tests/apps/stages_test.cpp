#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"
#include "tests/support/places.h"

namespace millrace {
namespace {

using test::CommandResult;
using test::run_millrace;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Stages, AreListedByRole) {
  const CommandResult result = run_millrace({"stages"});
  EXPECT_EQ(result.exit_code, 0);
  const auto sources = result.out.find("sources\n");
  const auto transforms = result.out.find("\ntransforms\n");
  const auto sinks = result.out.find("\nsinks\n");
  EXPECT_EQ(sources, 0U);
  EXPECT_LT(transforms, sinks);
  EXPECT_LT(result.out.find("  raw_reader "), transforms);
  EXPECT_GT(result.out.find("  encode_zstd "), transforms);
  EXPECT_GT(result.out.find("  null_writer "), sinks);
}

TEST(Stages, AreAllThereThatAcceptanceChecksName) {
  const std::string list = run_millrace({"stages"}).out;
  for (const char* const type : {"raw_reader", "raw_writer", "null_writer", "synthetic_reader", "spin", "fast5_reader",
                                 "slow5_reader", "slow5_writer", "decode_signal", "signal_qc_writer", "encode_zstd",
                                 "encode_lz4", "normalize", "detect_events", "events_writer"}) {
    EXPECT_THAT(list, HasSubstr(std::string("\n  ") + type + " "));
  }
}

TEST(Stages, ShowTheirOptionsWithTypeDefaultAndMeaning) {
  const CommandResult result = run_millrace({"stages", "encode_zstd"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("encode_zstd (transform, from millrace)\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n  option +type +default +meaning\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n  level +integer +3 +[^ ]"));
}

TEST(Stages, MarkWhatIsRequired) {
  EXPECT_THAT(run_millrace({"stages", "raw_writer"}).out, ContainsRegex("\n  path +path +required +[^ ]"));
}

TEST(Stages, OfAPluginAreListedWithItsPath) {
  const std::string plugin = test::build_dir().string() + "/tests/plugins/misbehaving.so";
  const CommandResult result = run_millrace({"stages", "--plugin", plugin});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\n  hang +never comes back  \\[" + plugin + "\\]\n"));
  EXPECT_THAT(run_millrace({"stages", "hang", "--plugin", plugin}).out, ContainsRegex("\n  at +integer +0"));
}

TEST(Stages, AsMarkdownAreATableThatNothingBreaks) {
  const CommandResult result = run_millrace({"stages", "--markdown"});
  EXPECT_EQ(result.exit_code, 0);
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
    EXPECT_EQ(bars, 8U) << line;
  }
  EXPECT_THAT(result.out, HasSubstr("| `encode_zstd` | transform |"));
  EXPECT_THAT(run_millrace({"stages", "spin", "--markdown"}).out, Not(HasSubstr("encode_zstd")));
}

}  // namespace
}  // namespace millrace
