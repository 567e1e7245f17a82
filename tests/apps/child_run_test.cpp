#include "apps/child_run.h"

#include <gtest/gtest.h>

namespace millrace::apps {
namespace {

TEST(LastErrorIn, IsTheLastLineThatIsAnError) {
  EXPECT_EQ(last_error_in(""), "");
  EXPECT_EQ(last_error_in("\n\n"), "");
  EXPECT_EQ(last_error_in("millrace: error: first\nmillrace: error: second\n"), "second");
  EXPECT_EQ(last_error_in("millrace: error: why\nmillrace: a notice\n"), "why");
  EXPECT_EQ(last_error_in("something\nelse"), "else");
}

TEST(ScratchDirectory, IsGoneAtItsEnd) {
  std::filesystem::path path;
  {
    const ScratchDirectory scratch;
    path = scratch.path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace millrace::apps
