#include "io/uring_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/buffer_pool.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::text_of;
using testing::HasSubstr;

std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

/// Runs for both: through the page cache, and direct.
class UringReaderTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const Probe probe = probe_uring_read(directory_.write("probe", "abc"), GetParam());
    if (!probe.works) GTEST_SKIP() << probe.reason;
    path_ = directory_.write("a", contents_);
  }

  std::unique_ptr<UringReader> open(std::uint32_t depth, std::shared_ptr<RingSession> session = nullptr) const {
    ReadVia via;
    via.depth = depth;
    via.block_bytes = 1 << 20;
    return std::make_unique<UringReader>(path_, via, GetParam(), std::move(session));
  }
  bool right(const Buffer& buffer, Extent extent) const {
    return text_of(buffer) == contents_.substr(extent.offset, extent.length);
  }

  test::TempDirectory directory_;
  std::string contents_ = pattern(5'000'001);
  std::filesystem::path path_;
};

TEST_P(UringReaderTest, WantsToHearOfAsManyReadsAsFitBesideTheOneThatIsWaitedFor) {
  EXPECT_EQ(open(6)->lookahead().reads, 5U);
  EXPECT_EQ(open(1)->lookahead().reads, 0U);
  EXPECT_EQ(open(0)->lookahead().reads, UringReader::kUsualDepth - 1);
}

TEST_P(UringReaderTest, AnnouncedReadsOfAllSizesComeAsTheyAre) {
  for (const bool pooled : {true, false}) {
    BufferPool pool(300'000 + kDirectPadding, 5);
    const test::LendFrom lend(pooled ? static_cast<Lender&>(pool) : heap_lender());
    const auto reader = open(4);
    std::mt19937_64 random(7);
    std::deque<Extent> ahead;
    for (int i = 0; i < 200; ++i) {
      while (ahead.size() < 4) {
        const std::uint64_t length = 1 + random() % (1ULL << (1 + random() % 18));
        ahead.push_back({random() % (contents_.size() - length + 1), length});
        reader->announce(ahead.back());
      }
      ASSERT_TRUE(right(reader->read(ahead.front()), ahead.front())) << "read " << i;
      ahead.pop_front();
    }
    if (pooled) {
      EXPECT_EQ(pool.allocations(), 5U);
      EXPECT_GE(reader->stats().registered_calls, 200U);
    } else {
      EXPECT_EQ(reader->stats().registered_calls, 0U);
    }
  }
}

TEST_P(UringReaderTest, ADepthBeyondTheFileIsFine) {
  const auto reader = open(64);
  std::vector<Extent> extents;
  for (std::uint64_t offset = 0; offset < contents_.size(); offset += 1'000'000) {
    extents.push_back({offset, std::min<std::uint64_t>(1'000'000, contents_.size() - offset)});
    reader->announce(extents.back());
  }
  for (const Extent extent : extents) EXPECT_TRUE(right(reader->read(extent), extent));
}

TEST_P(UringReaderTest, WhatWasNotAnnouncedCanBeReadInBetween) {
  const auto reader = open(4);
  reader->announce({0, 100'000});
  reader->announce({100'000, 100'000});
  EXPECT_TRUE(right(reader->read({4'000'000, 7}), {4'000'000, 7}));
  EXPECT_TRUE(right(reader->read({0, 100'000}), {0, 100'000}));
  EXPECT_TRUE(right(reader->read({100'000, 100'000}), {100'000, 100'000}));
}

TEST_P(UringReaderTest, AnnouncedOnesThatArePassedByGiveTheirBuffersBack) {
  BufferPool pool(100'000 + kDirectPadding, 4);
  const test::LendFrom lend(pool);
  const auto reader = open(4);
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 4; ++i) reader->announce({(round * 4 + i) * 100'000, 100'000});
    const Extent last{(round * 4 + 3) * 100'000, 100'000};
    EXPECT_TRUE(right(reader->read(last), last));
  }
  EXPECT_EQ(pool.allocations(), 4U);
}

TEST_P(UringReaderTest, AnnouncementsThatNobodyReadsAreForgottenTheOldestFirst) {
  BufferPool pool(100'000 + kDirectPadding, 4);
  const test::LendFrom lend(pool);
  const auto reader = open(4);
  for (std::uint64_t i = 0; i < 40; ++i) reader->announce({i * 100'000, 100'000});
  EXPECT_EQ(pool.allocations(), 4U);
  EXPECT_TRUE(right(reader->read({3'700'000, 100'000}), {3'700'000, 100'000}));
}

TEST_P(UringReaderTest, WhatFailsIsThrownByItsReadAndNotByItsAnnouncement) {
  const auto reader = open(4);
  reader->announce({contents_.size() - 5, 10});
  reader->announce({0, 10});
  const auto error = error_of([&] { reader->read({contents_.size() - 5, 10}); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("truncated: 10 bytes are wanted here"));
  EXPECT_EQ(error->path(), path_);
  EXPECT_EQ(error->offset(), contents_.size() - 5);
  EXPECT_TRUE(right(reader->read({0, 10}), {0, 10}));
}

TEST_P(UringReaderTest, LongExtentsAreSeveralRequestsIntoOneBuffer) {
  const auto reader = open(2);
  EXPECT_TRUE(right(reader->read({1, 5'000'000}), {1, 5'000'000}));
  EXPECT_EQ(reader->stats().calls, 5U);
  EXPECT_EQ(reader->stats().bytes, 5'000'000U);
  EXPECT_EQ(reader->stats().retries, 0U);
}

TEST_P(UringReaderTest, AFileThatShrinksIsTruncatedAtTheFirstByteThatIsMissing) {
  const auto reader = open(2);
  std::filesystem::resize_file(path_, 2'345'678);
  for (const Extent extent : {Extent{1, 5'000'000}, Extent{2'345'000, 1000}, Extent{2'345'678, 1}}) {
    reader->announce(extent);
    const auto error = error_of([&] { reader->read(extent); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), "truncated: the file ends here, but had 5000001 bytes when it was opened");
    EXPECT_EQ(error->offset(), 2'345'678U);
  }
  const auto error = error_of([&] { reader->read({3'000'000, 1'000'000}); });
  EXPECT_EQ(error->offset(), 3'000'000U);
  EXPECT_TRUE(right(reader->read({2'345'000, 678}), {2'345'000, 678}));
}

TEST_P(UringReaderTest, TheDestructorWaitsForWhatIsInFlight) {
  const auto before = test::open_descriptors();
  BufferPool pool((1 << 20) + kDirectPadding, 4);
  const test::LendFrom lend(pool);
  for (const bool elsewhere : {false, true}) {
    auto reader = open(4);
    for (std::uint64_t i = 0; i < 4; ++i) reader->announce({i << 20, 1 << 20});
    if (elsewhere) {
      std::thread([&reader] { reader.reset(); }).join();
    } else {
      reader.reset();
    }
    std::vector<Buffer> all;  // they are all back, and the kernel writes into none of them any more
    for (int i = 0; i < 4; ++i) {
      Buffer& buffer = all.emplace_back(pool.lend(1 << 20));
      std::fill(buffer.writable().begin(), buffer.writable().end(), std::byte{'x'});
    }
    for (const Buffer& buffer : all) EXPECT_TRUE(text_of(buffer) == std::string(1 << 20, 'x'));
    EXPECT_EQ(pool.allocations(), 4U);
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_P(UringReaderTest, ReadersOfOneThreadShareARing) {
  const auto session = std::make_shared<RingSession>();
  const auto before = test::open_descriptors();
  auto first = open(2, session);
  auto second = open(2, session);
  first->announce({0, 1'000'000});
  second->announce({1'000'000, 1'000'000});
  first->announce({2'000'000, 1'000'000});
  EXPECT_TRUE(right(second->read({1'000'000, 1'000'000}), {1'000'000, 1'000'000}));
  EXPECT_TRUE(right(first->read({0, 1'000'000}), {0, 1'000'000}));
  first.reset();
  EXPECT_TRUE(right(second->read({3'000'000, 9}), {3'000'000, 9}));
  second.reset();
  EXPECT_EQ(test::open_descriptors(), before + 2) << "the ring and its witness";
}

TEST_P(UringReaderTest, MovesToTheThreadThatUsesIt) {
  const auto reader = open(4);
  EXPECT_TRUE(right(reader->read({0, 1000}), {0, 1000}));
  reader->announce({1000, 1'000'000});
  reader->announce({2'000'000, 1'000'000});
  std::thread([&] {
    EXPECT_TRUE(right(reader->read({1000, 1'000'000}), {1000, 1'000'000}));
    reader->announce({3'000'000, 1'000'000});
    EXPECT_TRUE(right(reader->read({2'000'000, 1'000'000}), {2'000'000, 1'000'000}));
  }).join();
  EXPECT_TRUE(right(reader->read({3'000'000, 1'000'000}), {3'000'000, 1'000'000}));
}

TEST_P(UringReaderTest, SaysHowItRan) {
  BufferPool pool((1 << 20) + kDirectPadding, 2);
  const test::LendFrom lend(pool);
  const auto reader = open(2);
  reader->announce({0, 1000});
  reader->announce({1000, 1000});
  reader->read({0, 1000});
  EXPECT_THAT(reader->stats().detail, HasSubstr("2 reads in flight, 2 of 2 buffers registered, "));
  EXPECT_EQ(reader->stats().transport_used, GetParam() ? "uring_direct" : "uring");
  EXPECT_EQ(reader->stats().registered_calls, 2U);
}

INSTANTIATE_TEST_SUITE_P(Both, UringReaderTest, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "direct" : "cached"; });

}  // namespace
}  // namespace millrace::io
