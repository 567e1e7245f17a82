#include "io/queued_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "io/buffer_pool.h"
#include "io/buffered_file.h"
#include "io/mapped_file.h"
#include "io/open_file.h"
#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using test::text_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string result(bytes, '\0');
  std::generate(result.begin(), result.end(), [&random] { return static_cast<char>(random()); });
  return result;
}

/// Lets reads begin, and holds them until they are let through.
class Gate {
 public:
  void pass(io::Extent extent) {
    std::unique_lock lock(mutex_);
    begun_.push_back(extent.offset);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Offsets of the reads that began, once there are `count`.
  std::vector<std::uint64_t> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_.size() >= count; });
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> begun_;
  bool open_ = false;
};

const std::string kText = "0123456789abcdef";

QueuedReader::Open scripted(std::function<void(Extent)> before) {
  return [before = std::move(before)] { return std::make_unique<test::ScriptedReader>(kText, before); };
}

TEST(QueuedReader, HasAsManyReadsInFlightAsItIsDeep) {
  Gate gate;
  QueuedReader reader(scripted([&](Extent extent) { gate.pass(extent); }), 3);
  EXPECT_EQ(reader.lookahead().reads, 2U);
  EXPECT_EQ(reader.lookahead().bytes, 0U);
  for (std::uint64_t at = 0; at < 5; ++at) reader.announce({at, 1});
  auto begun = gate.wait_for(3);
  std::sort(begun.begin(), begun.end());
  EXPECT_THAT(begun, ElementsAre(0, 1, 2)) << "in the order announced, and the fourth has no thread";
  gate.open();
  for (std::uint64_t at = 0; at < 5; ++at) EXPECT_EQ(text_of(reader.read({at, 1})), kText.substr(at, 1));
  EXPECT_EQ(reader.stats().bytes, 5U);
  EXPECT_EQ(reader.stats().transport_used, "scripted");
  EXPECT_THAT(reader.stats().detail, HasSubstr("up to 3 reads in flight"));
}

TEST(QueuedReader, OneThreadBeginsThemInTheirOrder) {
  std::vector<std::uint64_t> begun;
  {
    QueuedReader reader(scripted([&](Extent extent) { begun.push_back(extent.offset); }), 1);
    for (const std::uint64_t at : {7, 3, 9}) reader.announce({at, 1});
    EXPECT_EQ(text_of(reader.read({7, 1})), "7");
    EXPECT_EQ(text_of(reader.read({3, 1})), "3");
    EXPECT_EQ(text_of(reader.read({9, 1})), "9");
  }
  EXPECT_THAT(begun, ElementsAre(7, 3, 9));
}

TEST(QueuedReader, OpensAndStartsNoMoreThanItNeeds) {
  std::atomic<int> opened{0};
  QueuedReader reader(
      [&opened] {
        ++opened;
        return std::make_unique<test::ScriptedReader>(kText);
      },
      64);
  EXPECT_EQ(opened, 1);
  for (std::uint64_t at = 0; at < 10; ++at) EXPECT_EQ(text_of(reader.read({at, 1})), kText.substr(at, 1));
  EXPECT_EQ(opened, 1) << "one read at a time";
}

TEST(QueuedReader, GoesOnWithFewerReadersWhenNoMoreCanBeOpened) {
  int opened = 0;
  QueuedReader reader(
      [&opened]() -> std::unique_ptr<Reader> {
        if (++opened > 2) throw Error("too many open files");
        return std::make_unique<test::ScriptedReader>(kText);
      },
      8);
  for (std::uint64_t at = 0; at < 8; ++at) reader.announce({at, 2});
  for (std::uint64_t at = 0; at < 8; ++at) EXPECT_EQ(text_of(reader.read({at, 2})), kText.substr(at, 2));
}

TEST(QueuedReader, AFileThatCannotBeOpenedIsAnErrorAtOnce) {
  const TempDirectory directory;
  EXPECT_THROW(QueuedReader([&] { return std::make_unique<BufferedReader>(directory / "missing"); }, 4), Error);
}

TEST(QueuedReader, GivesUpWhatLiesBeforeTheOneThatIsRead) {
  Gate gate;
  BufferPool pool(16, 8);
  const test::LendFrom lend(pool);
  QueuedReader reader(scripted([&](Extent extent) { gate.pass(extent); }), 2);
  for (std::uint64_t at = 0; at < 5; ++at) reader.announce({at, 1});
  gate.wait_for(2);
  std::thread opener([&] {
    gate.open();  // the reads at 0 and 1 are under way, those at 2 and 3 will never begin unless before this
  });
  EXPECT_EQ(text_of(reader.read({4, 1})), "4");
  opener.join();
  EXPECT_EQ(text_of(reader.read({1, 1})), "1") << "given up, so read again";
  EXPECT_EQ(text_of(reader.read({9, 2})), "9a") << "never announced";
  reader.announce({3, 3});
  EXPECT_EQ(text_of(reader.read({3, 2})), "34") << "another extent of the same place";
  EXPECT_EQ(text_of(reader.read({3, 3})), "345");
}

TEST(QueuedReader, ThrowsWhatWentWrongFromTheReadItBelongsTo) {
  QueuedReader reader(scripted([](Extent extent) {
                        if (extent.offset == 1) throw Error("a bad sector").at_offset(1);
                      }),
                      2);
  for (std::uint64_t at = 0; at < 4; ++at) reader.announce({at, 1});
  EXPECT_EQ(text_of(reader.read({0, 1})), "0");
  EXPECT_EQ(error_of([&] { reader.read({1, 1}); })->message(), "a bad sector");
  EXPECT_EQ(text_of(reader.read({2, 1})), "2");
  EXPECT_EQ(text_of(reader.read({3, 1})), "3");
}

TEST(QueuedReader, TakesBuffersFromTheLenderOfWhoAnnouncesAndGivesThemBack) {
  const TempDirectory directory;
  const auto path = directory.write("a", noise(1000));
  BufferPool pool(100, 4);
  const test::LendFrom lend(pool);
  {
    QueuedReader reader([&] { return std::make_unique<BufferedReader>(path); }, 3);
    for (std::uint64_t round = 0; round < 20; ++round) {
      for (std::uint64_t at = 0; at < 3; ++at) reader.announce({at * 100, 100});
      const Buffer first = reader.read({0, 100});
      EXPECT_EQ(first.capacity(), 100U) << "a block of the pool";
      const Buffer third = reader.read({200, 100});
      EXPECT_EQ(third.capacity(), 100U);
    }
    reader.announce({0, 100});
    reader.announce({100, 100});
  }
  EXPECT_EQ(pool.allocations(), 4U) << "blocks that were given up came back";
}

TEST(QueuedReader, EndsWithReadsUnderWayAndWaiting) {
  for (int round = 0; round < 20; ++round) {
    Gate gate;
    std::thread opener;
    {
      QueuedReader reader(scripted([&](Extent extent) { gate.pass(extent); }), 2);
      for (std::uint64_t at = 0; at < 10; ++at) reader.announce({at, 1});
      if (round % 2 == 0) gate.wait_for(2);
      opener = std::thread([&] { gate.open(); });
    }
    opener.join();
  }
}

TEST(QueuedReader, AStopOfTheRunEndsAReadThatWaits) {
  Gate gate;
  std::stop_source stop;
  call_context().stop = stop.get_token();
  {
    QueuedReader reader(scripted([&](Extent extent) { gate.pass(extent); }), 2);
    std::thread stopper([&] {
      gate.wait_for(1);
      stop.request_stop();
    });
    EXPECT_THAT(error_of([&] { reader.read({0, 1}); })->message(), HasSubstr("the run was stopped"));
    stopper.join();
    gate.open();
  }
  call_context().stop = {};
}

TEST(QueuedReader, HandsOnTheStopOfTheCaller) {
  std::stop_source stop;
  call_context().stop = stop.get_token();
  std::atomic<bool> same{false};
  QueuedReader reader(scripted([&](Extent) { same = call_context().stop == stop.get_token(); }), 2);
  reader.read({0, 1});
  EXPECT_TRUE(same);
  call_context().stop = {};
}

TEST(QueuedReader, AnyExtentsAnnouncedOrNot) {
  const TempDirectory directory;
  const std::string contents = noise(200'000);
  const auto path = directory.write("a", contents);
  const auto descriptors = test::open_descriptors();
  const std::vector<QueuedReader::Open> opens{[&] { return std::make_unique<BufferedReader>(path); },
                                              [&] { return std::make_unique<MappedReader>(path); }};
  for (const auto& open : opens) {
    for (const std::uint32_t depth : {1, 2, 7}) {
      std::mt19937_64 random(depth);
      const auto any_extent = [&] {
        const std::uint64_t offset = random() % contents.size();
        return Extent{offset, random() % std::min<std::uint64_t>(contents.size() - offset + 1, 10'000)};
      };
      QueuedReader reader(open, depth);
      std::deque<Extent> announced;
      std::deque<Buffer> kept;
      for (int i = 0; i < 500; ++i) {
        while (announced.size() < depth && random() % 4 != 0) {
          announced.push_back(any_extent());
          reader.announce(announced.back());
        }
        Extent wanted = any_extent();
        if (!announced.empty() && random() % 8 != 0) {
          const std::size_t skipped = random() % 4 == 0 ? random() % announced.size() : 0;
          announced.erase(announced.begin(), announced.begin() + static_cast<std::ptrdiff_t>(skipped));
          wanted = announced.front();
          announced.pop_front();
        } else {
          announced.clear();
        }
        kept.push_back(reader.read(wanted));
        ASSERT_EQ(text_of(kept.back()), contents.substr(wanted.offset, wanted.length));
        if (kept.size() > 5) kept.pop_front();
      }
    }
  }
  EXPECT_EQ(test::open_descriptors(), descriptors);
}

TEST(QueuedReader, IsWhatADepthMeansForATransportWithoutAQueue) {
  const TempDirectory directory;
  const auto path = directory.write("a", kText);
  for (const char* const transport : {"buffered", "mmap"}) {
    ReadVia via;
    via.transport = transport;
    EXPECT_EQ(open_reader(path, via)->lookahead().reads, 0U);
    via.depth = 4;
    const auto reader = open_reader(path, via);
    EXPECT_EQ(reader->lookahead().reads, 3U);
    EXPECT_EQ(buffer_needs(via).held, std::string(transport) == "mmap" ? 0U : 3U);
    reader->announce({0, 4});
    reader->announce({4, 4});
    EXPECT_EQ(text_of(reader->read({0, 4})), "0123");
    EXPECT_EQ(text_of(reader->read({4, 4})), "4567");
    EXPECT_EQ(reader->stats().transport_used, transport);
  }
}

}  // namespace
}  // namespace millrace::io
