#include "io/buffer_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

TEST(BufferPool, LendsTheSameBlocksForEver) {
  BufferPool pool(1000, 4);
  std::set<const std::byte*> blocks;
  for (int i = 0; i < 1000; ++i) {
    std::vector<Buffer> out;
    for (int k = 0; k < 4; ++k) {
      out.push_back(pool.lend(1000));
      blocks.insert(out.back().data());
    }
  }
  EXPECT_EQ(blocks.size(), 4U);
  EXPECT_EQ(pool.allocations(), 4U);
}

TEST(BufferPool, BuffersAreUniqueOfTheAskedSizeAndApart) {
  for (const std::size_t bytes : {1ULL, 64ULL, 100ULL, 4095ULL, 4096ULL, 5000ULL, 2ULL << 20, (2ULL << 20) + 1}) {
    BufferPool pool(bytes, 3);
    std::vector<Buffer> out;
    for (int k = 0; k < 3; ++k) {
      out.push_back(pool.lend(bytes));
      EXPECT_TRUE(out.back().unique());
      EXPECT_EQ(out.back().size(), bytes);
      EXPECT_EQ(out.back().capacity(), bytes);
      std::memset(out.back().writable().data(), k, bytes);
    }
    for (int k = 0; k < 3; ++k) {
      const auto seen = out[static_cast<std::size_t>(k)].bytes();
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [k](std::byte b) { return b == static_cast<std::byte>(k); }));
    }
  }
}

TEST(BufferPool, AlignsBlocksForDirectIo) {
  for (const std::size_t bytes : {1ULL, 64ULL, 4096ULL, 5000ULL, 100'000ULL, 2ULL << 20, 3ULL << 20}) {
    BufferPool pool(bytes, 5);
    const std::size_t alignment = bytes >= 4096 ? 4096 : 64;
    std::vector<Buffer> out;
    for (int k = 0; k < 7; ++k) {  // two of them beyond the plan
      out.push_back(pool.lend(bytes));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(out.back().data()) % alignment, 0U) << bytes;
    }
  }
}

TEST(BufferPool, SmallerRequestsGetAWholeBlock) {
  BufferPool pool(1000, 1);
  Buffer buffer = pool.lend(10);
  EXPECT_EQ(buffer.size(), 10U);
  EXPECT_EQ(buffer.capacity(), 1000U);
  buffer.resize(1000);
  buffer.release();
  EXPECT_TRUE(pool.lend(0).empty());
  EXPECT_EQ(pool.allocations(), 1U);
}

TEST(BufferPool, MoreThanPlannedIsServedCountedAndKept) {
  BufferPool pool(100, 2);
  for (int round = 0; round < 3; ++round) {
    std::vector<Buffer> out;
    for (int k = 0; k < 5; ++k) out.push_back(pool.lend(100));
    EXPECT_EQ(pool.allocations(), 5U);
  }
}

TEST(BufferPool, ServesAnyNumberOfBuffers) {
  BufferPool pool(10, 0);
  std::vector<Buffer> out;
  for (int k = 0; k < 3000; ++k) out.push_back(pool.lend(10));
  EXPECT_EQ(pool.allocations(), 3000U);
  out.clear();
  const std::uint64_t before = pool.allocations();
  for (int k = 0; k < 1000; ++k) out.push_back(pool.lend(10));
  EXPECT_EQ(pool.allocations(), before);
}

TEST(BufferPool, TooLargeARequestGetsABlockOfItsOwnEachTime) {
  BufferPool pool(100, 2);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    Buffer buffer = pool.lend(1 << 20);
    EXPECT_EQ(buffer.size(), 1U << 20);
    std::memset(buffer.writable().data(), 1, buffer.size());
    EXPECT_EQ(pool.allocations(), 2 + round);
  }
}

TEST(BufferPool, APoolOfNothingStillServes) {
  BufferPool pool(0, 0);
  EXPECT_EQ(pool.allocations(), 0U);
  EXPECT_EQ(pool.lend(10).size(), 10U);
  EXPECT_EQ(pool.lend(0).size(), 0U);
}

TEST(BufferPool, BuffersThatOutliveItStayValid) {
  auto pool = std::make_unique<BufferPool>(1000, 2);
  Buffer kept = pool->lend(1000);
  Buffer large = pool->lend(5000);
  std::memset(kept.writable().data(), 7, 1000);
  pool.reset();
  EXPECT_EQ(kept.bytes()[999], std::byte{7});
  const Buffer copy = kept;
  kept.release();
  EXPECT_EQ(copy.bytes()[0], std::byte{7});
  std::memset(large.writable().data(), 7, 5000);
}

TEST(BufferPool, SaysThatThereIsNoMemory) {
  EXPECT_THROW(BufferPool(1ULL << 50, 1), Error);
  EXPECT_THROW(BufferPool(1ULL << 30, 1ULL << 30), Error);
  EXPECT_THROW(BufferPool(1, ~0ULL), Error);
  BufferPool pool(10, 1);
  EXPECT_THROW(pool.lend(1ULL << 50), Error);
  EXPECT_NO_THROW(pool.lend(10));
}

/// Threads lend, write their mark, hand a part to the next thread, and check the mark on return: a block that two own
/// would show another's mark.
TEST(BufferPool, NeverLendsABlockTwiceUnderContention) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  BufferPool pool(64, 16);
  struct Mailbox {
    std::mutex mutex;
    std::vector<std::pair<Buffer, std::uint64_t>> letters;
  };
  std::vector<Mailbox> boxes(kThreads);
  std::vector<int> faults(kThreads, 0);
  const auto mark_of = [](const Buffer& buffer) {
    std::uint64_t mark = 0;
    std::memcpy(&mark, buffer.data(), sizeof mark);
    return mark;
  };
  {
    std::vector<std::jthread> threads;
    for (int self = 0; self < kThreads; ++self) {
      threads.emplace_back([&, self] {
        std::mt19937_64 random(static_cast<std::uint64_t>(self));
        std::vector<std::pair<Buffer, std::uint64_t>> mine;
        for (int round = 0; round < kRounds; ++round) {
          Buffer buffer = pool.lend(64);
          const std::uint64_t mark = random();
          std::memcpy(buffer.writable().data(), &mark, sizeof mark);
          mine.emplace_back(std::move(buffer), mark);
          if (mine.size() > random() % 4) {
            auto letter = std::move(mine.front());
            mine.erase(mine.begin());
            auto& box = boxes[static_cast<std::size_t>((self + 1) % kThreads)];
            const std::lock_guard lock(box.mutex);
            box.letters.push_back(std::move(letter));
          }
          std::vector<std::pair<Buffer, std::uint64_t>> received;
          {
            auto& box = boxes[static_cast<std::size_t>(self)];
            const std::lock_guard lock(box.mutex);
            received.swap(box.letters);
          }
          for (const auto& [other, mark_then] : received) {
            if (!other.unique() || mark_of(other) != mark_then) ++faults[static_cast<std::size_t>(self)];
          }
        }
      });
    }
  }
  EXPECT_EQ(faults, std::vector<int>(kThreads, 0));
  boxes = std::vector<Mailbox>(kThreads);
}

}  // namespace
}  // namespace millrace::io
