#include "io/positioned_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>

#include "io/buffered_file.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;
using test::error_of;
using test::TempDirectory;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1ULL << 20;

struct stat status_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status;
}

std::uint64_t bytes_on_device(const std::filesystem::path& path) {
  return static_cast<std::uint64_t>(status_of(path).st_blocks) * 512;
}

WriteVia preallocating(std::uint64_t bytes) {
  WriteVia via;
  via.preallocate_bytes = bytes;
  return via;
}

TEST(PositionedWriter, AsksForRoomAheadAndGivesTheSurplusBack) {
  const TempDirectory directory;
  BufferedWriter writer(create_output(directory / "a"), directory / "a", preallocating(8 * kMiB));
  writer.write(0, bytes_of("abc"));
  if (bytes_on_device(directory / "a") < kMiB) GTEST_SKIP() << "this file system does not preallocate";
  EXPECT_GE(bytes_on_device(directory / "a"), 8 * kMiB);
  EXPECT_EQ(std::filesystem::file_size(directory / "a"), 3U) << "the size is that of the bytes";
  writer.write(3, bytes_of(std::string(9 * kMiB, 'x')));
  EXPECT_GE(bytes_on_device(directory / "a"), 9 * kMiB + 3);
  writer.flush();
  EXPECT_LE(bytes_on_device(directory / "a"), 9 * kMiB + 64 * 1024);
  EXPECT_EQ(std::filesystem::file_size(directory / "a"), 9 * kMiB + 3);
  writer.write(9 * kMiB + 3, bytes_of("more"));
  writer.sync();
  EXPECT_LE(bytes_on_device(directory / "a"), 9 * kMiB + 64 * 1024);
  EXPECT_EQ(contents_of(directory / "a"), "abc" + std::string(9 * kMiB, 'x') + "more");
}

TEST(PositionedWriter, FillsADiskThatHasNoRoomForAWholeStep) {
  const test::SmallDisk disk(kMiB);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto path = disk.directory() / "a";
  BufferedWriter writer(create_output(path), path, preallocating(64 * kMiB));
  const std::string contents(900'000, 'x');
  writer.write(0, bytes_of(contents));
  writer.sync();
  EXPECT_EQ(contents_of(path), contents);
}

TEST(PositionedWriter, SaysThatTheSourceIsGoneWhenItWritesFromAMapThatEnded) {
  const TempDirectory directory;
  const auto source = directory.write("source", std::string(8192, 'x'));
  const FileDescriptor file = open_input(source);
  void* const memory = ::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::filesystem::resize_file(source, 4096);
  BufferedWriter writer(create_output(directory / "a"), directory / "a");
  const auto error = error_of([&] { writer.write(0, {static_cast<const std::byte*>(memory), 8192}); });
  ::munmap(memory, 8192);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("the bytes come from a mapped file that ended"));
  EXPECT_EQ(error->offset(), 4096U);
  EXPECT_THROW(writer.sync(), Error);
}

}  // namespace
}  // namespace millrace::io
