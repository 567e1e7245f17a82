#include "io/write_behind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "io/buffered_file.h"
#include "io/page_cache.h"
#include "tests/support/scripted_io.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::TempDirectory;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1ULL << 20;

bool in_memory(const TempDirectory& directory) {
  struct statfs status {};
  return ::statfs(directory.path().c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

WriteVia dropping(std::uint64_t window_bytes) {
  WriteVia via;
  via.write_behind_bytes = window_bytes;
  via.drop_behind = true;
  return via;
}

TEST(WriteBehind, KeepsTwoWindowsInThePageCacheAndNothingAfterASync) {
  const TempDirectory directory;
  if (in_memory(directory)) GTEST_SKIP() << "files of a tmpfs always are in memory";
  BufferedWriter writer(create_output(directory / "a"), directory / "a", dropping(4 * kMiB));
  const std::string block(kMiB, 'x');
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < 32; ++i) {
    writer.write(i * kMiB, bytes_of(block));
    most = std::max(most, resident_bytes(directory / "a").value());
  }
  EXPECT_LE(most, 12 * kMiB);
  EXPECT_GE(writer.stats().dropped_cache_bytes, 20 * kMiB);
  writer.write(32 * kMiB, bytes_of("tail"));
  writer.sync();
  EXPECT_EQ(resident_bytes(directory / "a"), 0U);
  EXPECT_EQ(writer.stats().dropped_cache_bytes, 32 * kMiB + 4);
  EXPECT_EQ(writer.stats().drop_errors, 0U);
  EXPECT_EQ(test::contents_of(directory / "a").size(), 32 * kMiB + 4);
}

TEST(WriteBehind, DropsOnlyWhatItIsToldTo) {
  const TempDirectory directory;
  WriteVia via;
  via.write_behind_bytes = kMiB;
  BufferedWriter writer(create_output(directory / "a"), directory / "a", via);
  for (std::uint64_t i = 0; i < 8; ++i) writer.write(i * kMiB, bytes_of(std::string(kMiB, 'x')));
  writer.sync();
  EXPECT_EQ(resident_bytes(directory / "a"), 8 * kMiB);
  EXPECT_EQ(writer.stats().dropped_cache_bytes, 0U);
  EXPECT_EQ(writer.stats().detail, "");
}

TEST(WriteBehind, DropsTheWholeFileAtASyncWhenItHasNoWindow) {
  const TempDirectory directory;
  if (in_memory(directory)) GTEST_SKIP() << "files of a tmpfs always are in memory";
  BufferedWriter writer(create_output(directory / "a"), directory / "a", dropping(0));
  for (std::uint64_t i = 0; i < 8; ++i) writer.write(i * kMiB, bytes_of(std::string(kMiB, 'x')));
  EXPECT_EQ(resident_bytes(directory / "a"), 8 * kMiB);
  writer.sync();
  EXPECT_EQ(resident_bytes(directory / "a"), 0U);
}

TEST(WriteBehind, CountsNoByteTwiceHoweverOftenTheFileIsSynced) {
  const TempDirectory directory;
  BufferedWriter writer(create_output(directory / "a"), directory / "a", dropping(kMiB));
  for (std::uint64_t i = 0; i < 10; ++i) {
    writer.write(i * 300'000, bytes_of(std::string(300'000, 'x')));
    writer.sync();
  }
  EXPECT_EQ(writer.stats().dropped_cache_bytes, 3'000'000U);
}

TEST(WriteBehind, IsGivenUpWhereTheKernelCannotDoIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  IoStats stats;
  WriteBehind behind(kMiB, true);
  EXPECT_FALSE(behind.wrote(ends[1], 2 * kMiB, stats));
  EXPECT_THAT(behind.refusal(), HasSubstr("no write-behind here: Illegal seek"));
  EXPECT_FALSE(behind.wrote(-1, 20 * kMiB, stats)) << "it must not try again";
  behind.synced(ends[1], 20 * kMiB, stats);
  EXPECT_EQ(stats.drop_errors, 1U);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(WriteBehind, TellsOfBytesThatWereLost) {
  IoStats stats;
  WriteBehind behind(kMiB, false);
  EXPECT_FALSE(behind.wrote(-1, kMiB - 1, stats));
  const auto failure = behind.wrote(-1, kMiB, stats);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error_number, EBADF);
  EXPECT_EQ(failure->offset, 0U);
}

}  // namespace
}  // namespace millrace::io
