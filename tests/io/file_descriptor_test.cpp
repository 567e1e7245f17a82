#include "io/file_descriptor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "pipeline/core/error.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"
#include "tests/support/unprivileged.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using testing::HasSubstr;

TEST(FileDescriptor, ClosesAtTheEndOfItsLife) {
  const TempDirectory directory;
  const auto path = directory.write("a", "x");
  const auto before = test::open_descriptors();
  {
    const FileDescriptor file = open_input(path);
    EXPECT_TRUE(file.valid());
    EXPECT_EQ(test::open_descriptors(), before + 1);
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(FileDescriptor, MovesWithoutClosingOrLeaking) {
  const TempDirectory directory;
  const auto path = directory.write("a", "x");
  const auto before = test::open_descriptors();
  {
    FileDescriptor first = open_input(path);
    const int number = first.get();
    FileDescriptor second = std::move(first);
    EXPECT_EQ(second.get(), number);
    second = open_input(path);
    EXPECT_EQ(test::open_descriptors(), before + 1);
    second.close();
    EXPECT_FALSE(second.valid());
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(OpenInput, NamesThePathAndTheReason) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "folder");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", directory / "dangling");
  directory.write("file", "x");
  const std::vector<std::pair<std::filesystem::path, std::string>> cases{
      {directory / "missing", "there is no such file"},
      {directory / "dangling", "there is no such file"},
      {directory / "folder", "is a directory, not a regular file"},
      {directory / "pipe", "is a FIFO, not a regular file"},
      {"/dev/null", "is a character device, not a regular file"},
      {directory / "file" / "below", "Not a directory"},
      {"", "there is no such file"},
  };
  const auto before = test::open_descriptors();
  for (const auto& [path, reason] : cases) {
    const auto error = error_of([&path = path] { open_input(path); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr(reason)) << path;
    EXPECT_EQ(error->path(), path);
    EXPECT_EQ(error->kind(), ErrorKind::run);
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(OpenInput, RefusesAFileThatMayNotBeRead) {
  const TempDirectory directory;
  const auto path = directory.write("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  const test::Unprivileged rights;
  if (!rights.dropped()) GTEST_SKIP() << "root cannot drop its rights here, and root reads everything";
  const auto error = error_of([&path] { open_input(path); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot open for reading: Permission denied");
}

TEST(CreateOutput, NeverTakesOverAnExistingFile) {
  const TempDirectory directory;
  const auto path = directory.write("a", "precious");
  const auto error = error_of([&path] { create_output(path); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot create: File exists");
  EXPECT_EQ(test::contents_of(path), "precious");
}

TEST(SizeOf, IsTheSizeNow) {
  const TempDirectory directory;
  const auto path = directory.write("a", "12345");
  const FileDescriptor file = open_input(path);
  EXPECT_EQ(io::size_of(file, path), 5U);
  directory.write("a", "123456789");
  EXPECT_EQ(io::size_of(file, path), 9U);
}

TEST(SyncDirectory, NeedsADirectory) {
  const TempDirectory directory;
  EXPECT_NO_THROW(sync_directory(directory.path()));
  const auto file = directory.write("a", "x");
  EXPECT_EQ(error_of([&file] { sync_directory(file); })->path(), file);
  EXPECT_THROW(sync_directory(directory / "missing"), Error);
}

}  // namespace
}  // namespace millrace::io
