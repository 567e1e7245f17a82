#include "io/buffered_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "io/buffer_pool.h"
#include "pipeline/core/error.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::error_of;
using test::TempDirectory;
using test::text_of;
using testing::HasSubstr;

TEST(BufferedReader, ReadsIntoMemoryOfTheOutputLink) {
  const TempDirectory directory;
  BufferedReader reader(directory.write("a", "0123456789"));
  BufferPool pool(4096, 1);
  const test::LendFrom lend(pool);
  const Buffer buffer = reader.read({2, 5});
  EXPECT_EQ(text_of(buffer), "23456");
  EXPECT_EQ(buffer.capacity(), 4096U);
  EXPECT_EQ(pool.allocations(), 1U);
}

TEST(BufferedReader, SaysWhereAFileEndsThatShrankAfterItWasOpened) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(10000, 'x'));
  BufferedReader reader(path);
  std::filesystem::resize_file(path, 6000);
  EXPECT_EQ(reader.read({0, 6000}).size(), 6000U);
  const auto error = error_of([&reader] { reader.read({4000, 4000}); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("truncated: the file ends here, but had 10000 bytes"));
  EXPECT_EQ(error->offset(), 6000U);
  EXPECT_EQ(error->path(), path);
}

TEST(BufferedReader, DoesNotSeeWhatWasAddedAfterItWasOpened) {
  const TempDirectory directory;
  const auto path = directory.write("a", "12345");
  BufferedReader reader(path);
  directory.write("a", "1234567890");
  EXPECT_EQ(reader.size(), 5U);
  EXPECT_THROW(reader.read({0, 6}), Error);
}

TEST(BufferedReader, RefusesAnExtentOfACorruptIndexWithoutAskingForMemory) {
  const TempDirectory directory;
  BufferedReader reader(directory.write("a", "12345"));
  test::RecyclingLender lender;
  const test::LendFrom lend(lender);
  constexpr std::uint64_t kMost = ~0ULL;
  for (const Extent extent : {Extent{0, kMost}, Extent{kMost, 1}, Extent{kMost, kMost}, Extent{3, kMost - 2}}) {
    const auto error = error_of([&] { reader.read(extent); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("truncated")) << extent.offset << " + " << extent.length;
    EXPECT_EQ(error->offset(), extent.offset);
  }
  EXPECT_EQ(lender.largest_loan(), 0U);
}

TEST(BufferedReader, CountsCallsAndBytes) {
  const TempDirectory directory;
  BufferedReader reader(directory.write("a", "0123456789"), "mmap");
  reader.read({0, 4});
  reader.read({4, 6});
  const IoStats stats = reader.stats();
  EXPECT_EQ(stats.calls, 2U);
  EXPECT_EQ(stats.bytes, 10U);
  EXPECT_EQ(stats.transport_requested, "mmap");
  EXPECT_EQ(stats.transport_used, "buffered");
}

TEST(BufferedWriter, StopsForGoodWhenTheDiskIsFull) {
  constexpr std::uint64_t kDiskBytes = 256 << 10;
  const test::SmallDisk disk(kDiskBytes);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  BufferedWriter writer(create_output(disk.directory() / "a"), disk.directory() / "a");
  const std::string block(100 << 10, 'x');
  writer.write(0, bytes_of(block));
  writer.write(block.size(), bytes_of(block));
  const auto error = error_of([&] { writer.write(2 * block.size(), bytes_of(block)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot write: No space left on device");
  EXPECT_GE(error->offset(), 2 * block.size());
  EXPECT_LE(error->offset(), kDiskBytes);
  const auto again = error_of([&] { writer.write(0, bytes_of("y")); });
  EXPECT_STREQ(again->what(), error->what());
  EXPECT_STREQ(error_of([&] { writer.sync(); })->what(), error->what());
}

TEST(BufferedWriter, ReportsAFileThatGrowsBeyondTheLimit) {
  const TempDirectory directory;
  BufferedWriter writer(create_output(directory / "a"), directory / "a");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // as the program does: the default ends the process
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto error = error_of([&writer] { writer.write(0, bytes_of(std::string(2000, 'x'))); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot write: File too large");
  EXPECT_EQ(error->offset(), 1000U);
}

TEST(BufferedWriter, RefusesAnOffsetThatNoFileHas) {
  const TempDirectory directory;
  BufferedWriter writer(create_output(directory / "a"), directory / "a");
  const auto error = error_of([&writer] { writer.write(~0ULL, bytes_of("x")); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("File too large"));
}

TEST(BufferedWriter, CountsSyncs) {
  const TempDirectory directory;
  BufferedWriter writer(create_output(directory / "a"), directory / "a");
  writer.write(0, bytes_of("abc"));
  writer.sync();
  writer.sync();
  EXPECT_EQ(writer.stats().fsync_calls, 2U);
  EXPECT_EQ(writer.stats().bytes, 3U);
  EXPECT_EQ(writer.stats().transport_used, "buffered");
}

}  // namespace
}  // namespace millrace::io
