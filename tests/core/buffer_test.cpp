#include "pipeline/core/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/core/counting_lender.h"

namespace millrace {
namespace {

using test::CountingLender;

TEST(Buffer, DefaultIsEmptyAndNobodysSo) {
  Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.capacity(), 0U);
  EXPECT_FALSE(buffer.unique());
  EXPECT_TRUE(buffer.writable().empty());
  buffer.resize(0);
  EXPECT_THROW(buffer.resize(1), Error);
  buffer.release();
}

TEST(Buffer, NarrowShowsAPartAndKeepsTheBlock) {
  CountingLender lender;
  Buffer buffer = lender.lend(100);
  const std::byte* const start = buffer.data();
  buffer.narrow(10, 50);
  EXPECT_EQ(buffer.data(), start + 10);
  EXPECT_EQ(buffer.size(), 50U);
  EXPECT_TRUE(buffer.unique());
  EXPECT_EQ(buffer.capacity(), 90U + CountingLender::kSpare);
  buffer.narrow(50, 0);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(lender.out(), 1);
  EXPECT_THROW(buffer.narrow(0, 1), Error);
  EXPECT_THROW(buffer.narrow(1, 0), Error);
  buffer.release();
  EXPECT_EQ(lender.out(), 0);
}

TEST(Buffer, ReadOnlyMemoryIsNobodysToWrite) {
  CountingLender lender;
  Buffer made = lender.lend(8);
  BufferBlock block;
  block.data = made.writable().data();
  block.capacity = 8;
  block.lender = &heap_lender();
  block.users = 2;  // the test's own use keeps it from being given back
  block.read_only = true;
  Buffer buffer(&block, 8);
  block.users = 1;
  EXPECT_FALSE(buffer.unique()) << "though it has one user";
  EXPECT_THROW(buffer.writable(), Error);
  EXPECT_EQ(buffer.bytes().size(), 8U);
  EXPECT_EQ(buffer.block(), &block);
  block.users = 2;
}

TEST(Buffer, LastHandleGivesTheBlockBackOnce) {
  CountingLender lender;
  {
    const Buffer first = lender.lend(100);
    {
      const Buffer second = first;  // NOLINT(performance-unnecessary-copy-initialization): the count is the test
      EXPECT_EQ(second.data(), first.data());
      EXPECT_EQ(lender.out(), 1);
    }
    EXPECT_EQ(lender.returned(), 0);
  }
  EXPECT_EQ(lender.returned(), 1);
}

TEST(Buffer, MoveTakesTheHandleAndLeavesAnEmptyOne) {
  CountingLender lender;
  Buffer first = lender.lend(8);
  const Buffer second = std::move(first);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): promised
  EXPECT_EQ(first.capacity(), 0U);
  EXPECT_TRUE(second.unique());
  EXPECT_EQ(lender.returned(), 0);
}

TEST(Buffer, AssignmentGivesTheOldBlockBack) {
  CountingLender lender;
  Buffer buffer = lender.lend(8);
  buffer = lender.lend(9);
  EXPECT_EQ(lender.returned(), 1);
  buffer = Buffer();
  EXPECT_EQ(lender.returned(), 2);
}

TEST(Buffer, SelfAssignmentKeepsTheBlock) {
  CountingLender lender;
  Buffer buffer = lender.lend(8);
  const Buffer& alias = buffer;
  buffer = alias;
  EXPECT_TRUE(buffer.unique());
  EXPECT_EQ(buffer.size(), 8U);
  EXPECT_EQ(lender.returned(), 0);
}

TEST(Buffer, OnlyTheSoleHandleMayWrite) {
  CountingLender lender;
  Buffer first = lender.lend(4);
  Buffer second = first;
  EXPECT_FALSE(first.unique());
  EXPECT_THROW(first.writable(), Error);
  EXPECT_THROW(second.writable(), Error);
  second.release();
  EXPECT_TRUE(second.empty());
  EXPECT_TRUE(first.unique());
  EXPECT_EQ(first.writable().size(), 4U);
}

TEST(Buffer, ResizeKeepsContentsAndStopsAtTheCapacity) {
  CountingLender lender;
  Buffer buffer = lender.lend(4);
  std::fill(buffer.writable().begin(), buffer.writable().end(), std::byte{42});
  EXPECT_EQ(buffer.capacity(), 4 + CountingLender::kSpare);
  buffer.resize(2);
  buffer.resize(buffer.capacity());
  EXPECT_EQ(buffer.size(), buffer.capacity());
  EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + 4, [](std::byte b) { return b == std::byte{42}; }));
  EXPECT_THROW(buffer.resize(buffer.capacity() + 1), Error);
  EXPECT_EQ(buffer.size(), buffer.capacity()) << "a refused resize changes nothing";
}

TEST(Buffer, SliceSharesMemoryAndCountsAsAHandle) {
  CountingLender lender;
  Buffer whole = lender.lend(10);
  Buffer part = whole.slice(3, 4);
  EXPECT_EQ(part.data(), whole.data() + 3);
  EXPECT_EQ(part.size(), 4U);
  EXPECT_EQ(part.capacity(), whole.capacity() - 3);
  EXPECT_FALSE(whole.unique());
  whole.release();
  EXPECT_EQ(lender.returned(), 0);
  EXPECT_TRUE(part.unique());
  part.release();
  EXPECT_EQ(lender.returned(), 1);
}

TEST(Buffer, SliceOfASliceCountsFromTheSlice) {
  const Buffer whole = heap_lender().lend(100);
  EXPECT_EQ(whole.slice(10, 50).slice(5, 6).data(), whole.data() + 15);
}

TEST(Buffer, SliceOutOfRangeIsRefused) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  const Buffer whole = heap_lender().lend(10);
  EXPECT_EQ(whole.slice(10, 0).size(), 0U);
  EXPECT_THROW(whole.slice(11, 0), Error);
  EXPECT_THROW(whole.slice(0, 11), Error);
  EXPECT_THROW(whole.slice(4, kHuge), Error);
  EXPECT_THROW(whole.slice(kHuge, 4), Error);
}

TEST(Buffer, HandlesOnSeveralThreadsGiveTheBlockBackExactlyOnce) {
  CountingLender lender;
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::jthread> threads;
    Buffer buffer = lender.lend(64);
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([handle = buffer]() mutable {
        Buffer another = handle.slice(1, 2);
        handle.release();
        another.release();
      });
    }
    buffer.release();
  }
  EXPECT_EQ(lender.returned(), kRounds);
}

TEST(Buffer, RandomCopiesMovesAndSlicesEndBalanced) {
  CountingLender lender;
  std::mt19937_64 random(7);
  {
    std::vector<Buffer> handles(8);
    for (int step = 0; step < 20'000; ++step) {
      Buffer& to = handles[random() % handles.size()];
      Buffer& from = handles[random() % handles.size()];
      switch (random() % 5) {
        case 0:
          to = lender.lend(1 + random() % 64);
          break;
        case 1:
          to = from;
          break;
        case 2:
          to = from.slice(from.size() / 2, from.size() - from.size() / 2);
          break;
        case 3:
          if (&to != &from) to = std::move(from);
          break;
        default:
          to.release();
      }
    }
  }
  EXPECT_GT(lender.lent(), 1000);
  EXPECT_EQ(lender.out(), 0);
}

TEST(HeapLender, MemoryIsAlignedForEverySampleType) {
  for (const std::size_t bytes : {0UL, 1UL, 63UL, 4097UL}) {
    Buffer buffer = heap_lender().lend(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_TRUE(buffer.unique());
    EXPECT_EQ(buffer.writable().size(), bytes);
  }
}

TEST(HeapLender, MoreThanThereIsGivesAnErrorAndNoCrash) {
  EXPECT_THROW(heap_lender().lend(std::numeric_limits<std::size_t>::max() / 4), Error);
}

}  // namespace
}  // namespace millrace
