// What each way of reading really asks of a device: counts and sizes of requests as slowfs saw them, no times. They are
// why mapped files are slow on network storage and direct reads are not (linux_io g3).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/buffer_pool.h"
#include "io/open_file.h"
#include "io/transports.h"
#include "tests/support/command.h"
#include "tests/support/slow_mount.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::SlowMount;
using testing::ElementsAre;
using testing::Pair;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kFileBytes = 16 * kMiB;

class Requests : public testing::Test {
 protected:
  /// Mounts and makes the file. Gives why the test cannot run: FUSE or the transport is not to be had, or the kernel
  /// reads ahead otherwise than `read_ahead_kib`.
  std::string prepare(const std::string& transport, std::uint64_t read_ahead_kib) {
    std::vector<std::string> keys;
    if (read_ahead_kib < 128) keys.push_back("max_readahead=" + std::to_string(read_ahead_kib * kKiB));
    mount_ = std::make_unique<SlowMount>(keys);
    if (!mount_->mounted()) return mount_->reason();
    if (mount_->read_ahead_kib() != read_ahead_kib) {
      return "this kernel reads " + std::to_string(mount_->read_ahead_kib()) + " KiB ahead";
    }
    mount_->source().write("a", std::string(kFileBytes, 'x'));
    path_ = mount_->directory() / "a";
    via_.transport = via_.transport_requested = transport;
    const Transport* const found = find_transport(transport);
    if (found == nullptr) throw std::runtime_error("there is no transport " + transport);
    const Probe probe = found->probe_read(path_);
    forget_requests(mount_->control());
    return probe.works ? "" : probe.reason;
  }

  /// Reads the whole file in blocks, as a source does, and touches every page as the next stage does.
  void read_all(std::uint64_t block_bytes) {
    BufferPool pool(block_bytes + 2 * kMiB, 4);
    const test::LendFrom lend(pool);
    const auto session = open_session(via_);
    const auto reader = open_reader(path_, via_, session);
    for (std::uint64_t offset = 0; offset < kFileBytes; offset += block_bytes) {
      const Buffer buffer = reader->read({offset, block_bytes});
      for (std::size_t i = 0; i < buffer.size(); i += 4096) ASSERT_EQ(static_cast<char>(buffer.bytes()[i]), 'x');
    }
    EXPECT_GE(mount_->control().reads.bytes, kFileBytes);
  }

  /// Announces so many blocks of 1 MiB that are not answered, and waits until that many requests are there.
  void announce_and_wait(std::uint32_t depth) {
    BufferPool pool(2 * kMiB, depth + 2);
    const test::LendFrom lend(pool);
    via_.depth = depth + 1;
    const auto session = open_session(via_);
    const auto reader = open_reader(path_, via_, session);
    set_stall(mount_->control(), true);
    ASSERT_GE(reader->lookahead().reads, depth);
    for (std::uint32_t i = 0; i < depth; ++i) reader->announce({i * kMiB, kMiB});
    EXPECT_TRUE(mount_->wait_for_stalled(depth)) << mount_->seen();
    set_stall(mount_->control(), false);
    for (std::uint32_t i = 0; i < depth; ++i) EXPECT_EQ(reader->read({i * kMiB, kMiB}).size(), kMiB);
  }

  /// All of the file in requests of `bytes`; up to two more, where the kernel's read-ahead starts or ends in between.
  void expect_requests_of(std::uint64_t bytes) const {
    const std::uint64_t least = kFileBytes / bytes;
    EXPECT_EQ(mount_->control().reads.largest_bytes, bytes) << mount_->seen();
    EXPECT_GE(mount_->control().reads.requests, least) << mount_->seen();
    EXPECT_LE(mount_->control().reads.requests, least + 2) << mount_->seen();
  }

  std::unique_ptr<SlowMount> mount_;
  std::filesystem::path path_;
  ReadVia via_;
};

TEST_F(Requests, BufferedReadsAreThoseOfTheReadAheadHoweverMuchIsAskedFor) {
  if (const auto why_not = prepare("buffered", 128); !why_not.empty()) GTEST_SKIP() << why_not;
  read_all(16 * kMiB);
  expect_requests_of(128 * kKiB);
}

TEST_F(Requests, BufferedReadsOfLargeBlocksDoNotCareForASmallReadAhead) {
  if (const auto why_not = prepare("buffered", 24); !why_not.empty()) GTEST_SKIP() << why_not;
  read_all(16 * kMiB);
  expect_requests_of(128 * kKiB);
}

TEST_F(Requests, DirectReadsAreAsLargeAsTheDeviceTakes) {
  if (const auto why_not = prepare("direct", 128); !why_not.empty()) GTEST_SKIP() << why_not;
  read_all(4 * kMiB);
  EXPECT_THAT(mount_->reads_by_length(), ElementsAre(Pair(kMiB, 16))) << mount_->seen();
}

TEST_F(Requests, PagesOfAMapAreFetchedInStepsOfTheReadAhead) {
  if (const auto why_not = prepare("mmap", 128); !why_not.empty()) GTEST_SKIP() << why_not;
  via_.consumer_faults = true;
  read_all(16 * kMiB);
  expect_requests_of(128 * kKiB);
}

TEST_F(Requests, OnAMountWithSmallReadAheadAMapIsFetchedInFiveTimesAsManyRequests) {
  if (const auto why_not = prepare("mmap", 24); !why_not.empty()) GTEST_SKIP() << why_not;
  via_.consumer_faults = true;
  read_all(16 * kMiB);
  expect_requests_of(24 * kKiB);
}

TEST_F(Requests, AReaderThatFetchesThePagesOfItsMapIsBoundByTheReadAheadToo) {
  if (const auto why_not = prepare("mmap", 24); !why_not.empty()) GTEST_SKIP() << why_not;
  read_all(16 * kMiB);
  expect_requests_of(24 * kKiB);
}

TEST_F(Requests, WindowedAdviceMakesAMapAskInLargePiecesWhateverTheReadAheadIs) {
  if (const auto why_not = prepare("mmap", 24); !why_not.empty()) GTEST_SKIP() << why_not;
  // A whole run, as it takes a source to say what comes next.
  const test::TempDirectory home;
  const auto config = home.write("run.toml",
                                 "[pipeline]\nname = \"advised\"\n[[stage]]\nname = \"read\"\ntype = \"raw_reader\"\n"
                                 "path = \"" +
                                     path_.string() +
                                     "\"\nvia = { transport = \"mmap\", advice = \"willneed\", block = \"1 MiB\" }\n"
                                     "[[stage]]\nname = \"write\"\ntype = \"null_writer\"\n");
  const test::CommandResult result = test::run_millrace({"run", config.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_requests_of(128 * kKiB);
}

TEST_F(Requests, UnderRandomAdviceEveryPageOfAMapIsARequest) {
  if (const auto why_not = prepare("mmap", 128); !why_not.empty()) GTEST_SKIP() << why_not;
  via_.consumer_faults = true;
  via_.advice.kind = AdvicePolicy::Kind::random;
  read_all(16 * kMiB);
  EXPECT_THAT(mount_->reads_by_length(), ElementsAre(Pair(4096, 4096))) << mount_->seen();
}

TEST_F(Requests, AnnouncedReadsOfARingAreInFlightTogether) {
  if (const auto why_not = prepare("uring_direct", 128); !why_not.empty()) GTEST_SKIP() << why_not;
  announce_and_wait(6);
  EXPECT_GE(mount_->control().most_in_flight, 6U) << mount_->seen();
  EXPECT_EQ(mount_->control().reads.largest_bytes, kMiB) << mount_->seen();
}

TEST_F(Requests, AnnouncedReadsOfAQueueOfThreadsAreInFlightTogether) {
  if (const auto why_not = prepare("direct", 128); !why_not.empty()) GTEST_SKIP() << why_not;
  announce_and_wait(6);
  EXPECT_GE(mount_->control().most_in_flight, 6U) << mount_->seen();
  EXPECT_EQ(mount_->control().reads.largest_bytes, kMiB) << mount_->seen();
}

}  // namespace
}  // namespace millrace::io
