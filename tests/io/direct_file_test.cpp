#include "io/direct_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "io/buffer_pool.h"
#include "pipeline/core/error.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;
using test::error_of;
using test::text_of;
using testing::HasSubstr;

std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

/// Files in a place that has direct I/O.
class DirectFile : public testing::Test {
 protected:
  void SetUp() override {
    const Probe probe = probe_direct_write(directory_.path());
    if (!probe.works) GTEST_SKIP() << probe.reason;
  }

  test::TempDirectory directory_;
};

TEST_F(DirectFile, ReadsUnalignedExtentsIntoMemoryOfThePoolWithoutACopy) {
  const std::string contents = pattern(100'001);
  DirectReader reader(directory_.write("a", contents));
  BufferPool pool(20'000 + kDirectPadding, 1);
  const test::LendFrom lend(pool);
  for (const std::uint64_t offset : {0, 1, 511, 512, 4095, 4096, 5000, 80'001}) {
    for (const std::uint64_t length : {1, 511, 4096, 4097, 20'000}) {
      EXPECT_TRUE(text_of(reader.read({offset, length})) == contents.substr(offset, length))
          << offset << " + " << length;
    }
  }
  EXPECT_EQ(pool.allocations(), 1U);
  EXPECT_EQ(call_context().tally.copied_bytes, 0U);
}

TEST_F(DirectFile, ReadsIntoMemoryThatTheHeapAlignedForSomethingElse) {
  const std::string contents = pattern(50'000);
  DirectReader reader(directory_.write("a", contents));
  std::vector<Buffer> kept;  // so that the heap gives other places each time
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Extent extent{i * 577, 1 + i * 331};
    EXPECT_TRUE(text_of(kept.emplace_back(reader.read(extent))) == contents.substr(extent.offset, extent.length));
  }
}

TEST_F(DirectFile, ShowsNothingBehindTheEndOfTheFile) {
  DirectReader reader(directory_.write("a", pattern(5000)));
  const Buffer tail = reader.read({4096, 904});
  EXPECT_EQ(tail.size(), 904U);
  EXPECT_EQ(text_of(tail), pattern(5000).substr(4096));
}

TEST_F(DirectFile, SaysWhereAFileEndsThatShrankAfterItWasOpened) {
  const auto path = directory_.write("a", pattern(100'000));
  DirectReader reader(path);
  std::filesystem::resize_file(path, 50'001);
  struct Case {
    Extent extent;
    std::uint64_t end;
  };
  for (const Case& one : {Case{{40'000, 20'000}, 50'001}, Case{{0, 100'000}, 50'001}, Case{{50'001, 1}, 50'001},
                          Case{{50'002, 1}, 50'002}, Case{{90'000, 100}, 90'000}}) {
    const auto error = error_of([&] { reader.read(one.extent); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), "truncated: the file ends here, but had 100000 bytes when it was opened");
    EXPECT_EQ(error->offset(), one.end) << one.extent.offset << " + " << one.extent.length;
    EXPECT_EQ(error->path(), path);
  }
}

TEST_F(DirectFile, RefusesAnExtentOfACorruptIndexWithoutAskingForMemory) {
  DirectReader reader(directory_.write("a", "12345"));
  test::RecyclingLender lender;
  const test::LendFrom lend(lender);
  for (const Extent extent : {Extent{0, ~0ULL}, Extent{~0ULL, 1}, Extent{3, ~0ULL - 2}}) {
    EXPECT_THAT(error_of([&] { reader.read(extent); })->message(), HasSubstr("truncated"));
  }
  EXPECT_EQ(lender.largest_loan(), 0U);
}

TEST_F(DirectFile, LeavesThePageCacheAlone) {
  const auto path = directory_.write("a", pattern(1 << 20));
  DirectReader reader(path, "uring_direct");
  EXPECT_NE(::fcntl(reader.descriptor(), F_GETFL) & O_DIRECT, 0);
  reader.read({0, 1 << 20});
  EXPECT_EQ(reader.stats().calls, 1U);
  EXPECT_EQ(reader.stats().bytes, 1U << 20);
  EXPECT_EQ(reader.stats().transport_requested, "uring_direct");
  EXPECT_EQ(reader.stats().transport_used, "direct");
}

TEST_F(DirectFile, AWriterReportsAFileThatGrowsBeyondTheLimitToTheByte) {
  const auto path = directory_ / "a";
  DirectWriter writer(create_output(path), path, {});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // as the program does: the default ends the process
  const rlimit small{10'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto error = error_of([&writer] {
    writer.write(0, bytes_of(std::string(20'000, 'x')));
    writer.sync();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot write: File too large");
  EXPECT_EQ(error->offset(), 10'000U);
  EXPECT_EQ(error->path(), path);
}

TEST_F(DirectFile, TheLimitOfAFileCountsItsBytesAndNotItsBlocks) {
  const auto path = directory_ / "a";
  DirectWriter writer(create_output(path), path, {});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string failure;
  try {
    writer.write(0, bytes_of(std::string(10'000, 'x')));
    writer.sync();
  } catch (const Error& error) {
    failure = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(failure, "");
  EXPECT_EQ(contents_of(path), std::string(10'000, 'x'));
}

TEST_F(DirectFile, AFullDiskStopsAWriterAtTheByteForGood) {
  const test::SmallDisk disk(256 << 10);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto path = disk.directory() / "a";
  DirectWriter writer(create_output(path), path, {});
  writer.write(0, bytes_of(std::string(200 << 10, 'x')));
  writer.flush();
  const auto error = error_of([&] {
    writer.write(200 << 10, bytes_of(std::string(100 << 10, 'x')));
    writer.flush();
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot write: No space left on device");
  EXPECT_GE(error->offset(), 200U << 10);
  EXPECT_LE(error->offset(), 256U << 10);
  EXPECT_STREQ(error_of([&] { writer.write(0, bytes_of("y")); })->what(), error->what());
  EXPECT_STREQ(error_of([&] { writer.flush(); })->what(), error->what());
  EXPECT_STREQ(error_of([&] { writer.sync(); })->what(), error->what());
}

TEST(DirectProbe, SaysWhyItDoesNotWork) {
  EXPECT_TRUE(probe_direct_read("/nowhere/at/all").works) << "who opens the file will say that it is missing";
  EXPECT_FALSE(probe_direct_write("/nowhere/at/all").works);
  const Probe proc = probe_direct_read("/proc/self/status");
  EXPECT_FALSE(proc.works);
  EXPECT_THAT(proc.reason, HasSubstr("cannot be read directly"));
}

TEST(DirectProbe, SaysWhereItIsNotPromised) {
  const test::SmallDisk disk(1 << 20);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const Probe writing = probe_direct_write(disk.directory().path());
  if (!writing.works) GTEST_SKIP() << "this kernel has no direct I/O on tmpfs at all";
  EXPECT_EQ(writing.reason, kNotPromised);
  const auto path = disk.directory().write("a", "abc");
  EXPECT_EQ(probe_direct_read(path).reason, kNotPromised);
  EXPECT_EQ(disk.directory().names(), std::vector<std::string>{"a"});
  EXPECT_EQ(DirectReader(path).stats().detail, kNotPromised);
}

}  // namespace
}  // namespace millrace::io
