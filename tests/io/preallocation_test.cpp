#include "io/preallocation.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

struct stat status_of(const FileDescriptor& file) {
  struct stat status {};
  EXPECT_EQ(::fstat(file.get(), &status), 0);
  return status;
}

TEST(Preallocation, MakesRoomInStepsAndKeepsTheSize) {
  const test::TempDirectory directory;
  const FileDescriptor file = create_output(directory / "a");
  Preallocation room(1 << 20);
  room.reserve(file, 100);
  if (!room.refusal().empty()) GTEST_SKIP() << room.refusal();
  EXPECT_EQ(room.reserved_until(), 1U << 20);
  room.reserve(file, 1 << 20);
  EXPECT_EQ(room.reserved_until(), 1U << 20);
  room.reserve(file, (1 << 20) + 1);
  EXPECT_EQ(room.reserved_until(), 2U << 20);
  EXPECT_EQ(status_of(file).st_size, 0);
  EXPECT_GE(status_of(file).st_blocks * 512, 2 << 20);
  room.cut(5000);
  EXPECT_EQ(room.reserved_until(), 5000U);
}

TEST(Preallocation, IsNotAskedForWithoutAStep) {
  const test::TempDirectory directory;
  const FileDescriptor file = create_output(directory / "a");
  Preallocation room(0);
  room.reserve(file, 1 << 20);
  EXPECT_EQ(room.reserved_until(), 0U);
  EXPECT_EQ(status_of(file).st_blocks, 0);
}

TEST(Preallocation, SaysOnceWhyThereIsNone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor reading(ends[0]);
  const FileDescriptor writing(ends[1]);
  Preallocation room(4096);
  room.reserve(writing, 1);
  room.reserve(writing, 10'000);
  EXPECT_EQ(room.refusal(), "no preallocation: Illegal seek");
  EXPECT_EQ(room.reserved_until(), 0U);
}

}  // namespace
}  // namespace millrace::io
