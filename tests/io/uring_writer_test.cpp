// What is special about writing through io_uring; what all such writers share is in aligned_writer_test.cpp.

#include "io/uring_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "io/buffer_pool.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;
using test::error_of;
using testing::HasSubstr;

constexpr std::size_t kPiece = 1 << 20;

/// Runs for both: through the page cache, and direct.
class UringWriterTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const Probe probe = probe_uring_write(directory_.path(), GetParam());
    if (!probe.works) GTEST_SKIP() << probe.reason;
  }

  static std::unique_ptr<UringWriter> create(const std::filesystem::path& path, std::uint32_t depth = 4) {
    WriteVia via;
    via.depth = depth;
    return std::make_unique<UringWriter>(create_output(path), path, via, GetParam());
  }
  Buffer piece(char letter) {
    Buffer buffer = pool_.lend(kPiece);
    std::fill(buffer.writable().begin(), buffer.writable().end(), static_cast<std::byte>(letter));
    return buffer;
  }

  test::TempDirectory directory_;
  BufferPool pool_{kPiece, 6};
};

TEST_P(UringWriterTest, KeepsAsManyBuffersAsWritesMayBeInFlight) {
  const auto writer = create(directory_ / "a", 2);
  std::string expected;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto letter = static_cast<char>('a' + i);
    writer->submit(i * kPiece, piece(letter));
    expected += std::string(kPiece, letter);
  }
  EXPECT_EQ(pool_.allocations(), 6U) << "never more than two kept and one new";
  writer->flush();
  EXPECT_TRUE(contents_of(directory_ / "a") == expected);
  EXPECT_EQ(writer->stats().registered_calls, 10U);
  EXPECT_THAT(writer->stats().detail, HasSubstr("2 writes in flight, "));
  EXPECT_THAT(writer->stats().detail, HasSubstr("buffers registered, "));
}

TEST_P(UringWriterTest, ReportsTheFirstPlaceThatFailedForGood) {
  const auto path = directory_ / "a";
  const auto writer = create(path, 4);
  writer->submit(0, piece('a'));
  writer->flush();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // as the program does: the default ends the process
  const rlimit small{kPiece + 300'001, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto error = error_of([&] {
    for (std::uint64_t i = 1; i < 6; ++i) writer->submit(i * kPiece, piece('b'));
    writer->sync();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot write: File too large");
  EXPECT_EQ(error->offset(), kPiece + 300'001);
  EXPECT_EQ(error->path(), path);
  EXPECT_STREQ(error_of([&] { writer->submit(0, piece('c')); })->what(), error->what());
  EXPECT_STREQ(error_of([&] { writer->flush(); })->what(), error->what());
  EXPECT_STREQ(error_of([&] { writer->sync(); })->what(), error->what());
}

TEST_P(UringWriterTest, AFullDiskIsReportedAndGivesTheBuffersBack) {
  const test::SmallDisk disk(3 * kPiece + (300 << 10));
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  if (const Probe probe = probe_uring_write(disk.directory().path(), GetParam()); !probe.works) {
    GTEST_SKIP() << probe.reason;
  }
  const auto writer = create(disk.directory() / "a", 4);
  const auto error = error_of([&] {
    for (std::uint64_t i = 0; i < 6; ++i) writer->submit(i * kPiece, piece('x'));
    writer->flush();
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot write: No space left on device");
  EXPECT_GE(error->offset(), 2 * kPiece) << "several were written side by side";
  EXPECT_LE(error->offset(), 4 * kPiece);
  std::vector<Buffer> all;
  for (int i = 0; i < 6; ++i) all.push_back(pool_.lend(kPiece));
  EXPECT_EQ(pool_.allocations(), 6U) << "all came back";
}

TEST_P(UringWriterTest, TheDestructorWaitsOnAnyThread) {
  const auto before = test::open_descriptors();
  for (const bool elsewhere : {false, true}) {
    const auto path = directory_ / (elsewhere ? "b" : "a");
    auto writer = create(path);
    for (std::uint64_t i = 0; i < 4; ++i) writer->submit(i * kPiece, piece('x'));
    if (elsewhere) {
      std::thread([&writer] { writer.reset(); }).join();
    } else {
      writer.reset();
    }
    std::vector<Buffer> all;
    for (int i = 0; i < 6; ++i) all.push_back(pool_.lend(kPiece));
    EXPECT_EQ(pool_.allocations(), 6U);
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_P(UringWriterTest, MovesToTheThreadThatUsesIt) {
  const auto path = directory_ / "a";
  const auto writer = create(path);
  writer->submit(0, piece('a'));
  writer->submit(kPiece, piece('b'));
  std::thread([&] {
    writer->submit(2 * kPiece, piece('c'));
    writer->flush();
  }).join();
  writer->write(3 * kPiece, bytes_of("end"));
  writer->sync();
  EXPECT_TRUE(contents_of(path) ==
              std::string(kPiece, 'a') + std::string(kPiece, 'b') + std::string(kPiece, 'c') + "end");
}

TEST_P(UringWriterTest, WrittenMemoryBelongsToItsOwnerAgain) {
  const auto path = directory_ / "a";
  const auto writer = create(path);
  std::string text(kPiece, 'a');
  writer->write(0, bytes_of(text));
  std::fill(text.begin(), text.end(), 'b');
  writer->flush();
  EXPECT_TRUE(contents_of(path) == std::string(kPiece, 'a'));
}

TEST(UringWriteProbe, SaysWhyItDoesNotWork) {
  EXPECT_FALSE(probe_uring_write("/nowhere/at/all", false).works);
  EXPECT_FALSE(probe_uring_write("/nowhere/at/all", true).works);
  EXPECT_FALSE(probe_uring_write("/nowhere/at/all", true).reason.empty());
}

INSTANTIATE_TEST_SUITE_P(Both, UringWriterTest, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "direct" : "cached"; });

}  // namespace
}  // namespace millrace::io
