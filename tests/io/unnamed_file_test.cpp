#include "io/unnamed_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;

TEST(OpenUnnamed, HasNoNameUntilItIsLinked) {
  const TempDirectory directory;
  const FileDescriptor file = open_unnamed(directory.path());
  if (!file.valid()) GTEST_SKIP() << "the file system has no files without a name";
  EXPECT_EQ(::write(file.get(), "abc", 3), 3);
  EXPECT_TRUE(directory.names().empty());
  EXPECT_TRUE(link_unnamed(file, directory / "a"));
  EXPECT_EQ(test::contents_of(directory / "a"), "abc");
  EXPECT_FALSE(link_unnamed(file, directory / "a"));
  EXPECT_EQ(errno, EEXIST);
}

TEST(OpenUnnamed, IsNotValidWhereThereIsNoDirectory) {
  const TempDirectory directory;
  EXPECT_FALSE(open_unnamed(directory / "missing").valid());
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(open_unnamed("/proc").valid()) << "a file system without such files";
}

TEST(OpenScratch, CanBeWrittenAndHasNoName) {
  const TempDirectory directory;
  const FileDescriptor file = open_scratch(directory.path());
  EXPECT_TRUE(directory.names().empty());
  EXPECT_EQ(::pwrite(file.get(), "abc", 3, 0), 3);
  char read[3];
  EXPECT_EQ(::pread(file.get(), read, 3, 0), 3);
}

TEST(OpenScratch, NamesTheDirectoryThatTakesNoFiles) {
  const auto error = error_of([] { open_scratch("/proc"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), "/proc");
}

}  // namespace
}  // namespace millrace::io
