// stages/README.md says what the program says, and shows the code that is tested.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/places.h"
#include "tests/support/temp_directory.h"

namespace millrace::lint {
namespace {

const std::filesystem::path kRoot = test::source_dir();

/// The text between two marks, both of which must be there.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  const auto to = text.find(end, from + begin.size());
  if (from == std::string::npos || to == std::string::npos) return "no " + begin;
  return text.substr(from + begin.size(), to - from - begin.size());
}

TEST(StagesReadme, TableIsWhatTheProgramPrints) {
  const test::TempDirectory directory;
  const auto output = directory / "table.md";
  ASSERT_EQ(std::system((test::program().string() + " stages --markdown >" + output.string()).c_str()), 0);
  EXPECT_EQ(between(test::contents_of(kRoot / "stages/README.md"), "<!-- stages: begin -->\n", "<!-- stages: end -->"),
            test::contents_of(output))
      << "put the output of `build/millrace stages --markdown` between the marks";
}

TEST(StagesReadme, CodeIsThatOfTheExamplePlugin) {
  EXPECT_EQ(between(test::contents_of(kRoot / "stages/README.md"), "```cpp\n", "```"),
            test::contents_of(kRoot / "apps/example_plugin/subtract_baseline.cpp"));
}

}  // namespace
}  // namespace millrace::lint
