#include "io/block_progress.h"

#include <gtest/gtest.h>

namespace millrace::io {
namespace {

TEST(BlockProgress, OneFullCountIsEnough) {
  BlockProgress progress({4096, 8192}, 10'000, 4096);
  EXPECT_FALSE(progress.complete());
  EXPECT_EQ(progress.next().offset, 4096U);
  EXPECT_EQ(progress.next().length, 8192U);
  EXPECT_TRUE(progress.advance(8192));
  EXPECT_TRUE(progress.complete());
}

TEST(BlockProgress, TheEndOfTheFileBehindTheWantedBytesIsNoConcern) {
  BlockProgress progress({4096, 8192}, 10'000, 4096);
  EXPECT_TRUE(progress.advance(10'000 - 4096));
  EXPECT_TRUE(progress.complete());
}

TEST(BlockProgress, GoesOnAtTheBlockInWhichAShortCountEnded) {
  for (const std::uint64_t block : {512, 4096}) {
    BlockProgress progress({0, 16'384}, 16'000, block);
    EXPECT_TRUE(progress.advance(5000));
    EXPECT_FALSE(progress.complete());
    EXPECT_EQ(progress.place(), 5000U);
    EXPECT_EQ(progress.next().offset, round_down(5000, block));
    EXPECT_EQ(progress.next().length, 16'384 - round_down(5000, block));
    EXPECT_TRUE(progress.advance(progress.next().length));
    EXPECT_TRUE(progress.complete());
  }
}

TEST(BlockProgress, TheFileEndsWhereACountBringsNothingNew) {
  BlockProgress progress({8192, 16'384}, 20'000, 4096);
  EXPECT_TRUE(progress.advance(5000));
  EXPECT_FALSE(progress.advance(5000 - 4096)) << "the same bytes again";
  EXPECT_FALSE(progress.advance(0));
  EXPECT_EQ(progress.place(), 8192U + 5000U);
  BlockProgress at_once({8192, 4096}, 9000, 4096);
  EXPECT_FALSE(at_once.advance(0));
  EXPECT_EQ(at_once.place(), 8192U);
}

TEST(BlockProgress, AsksForAtMostOneGiB) {
  constexpr std::uint64_t kGiB = 1ULL << 30;
  BlockProgress progress({0, 3 * kGiB}, 3 * kGiB, 4096);
  EXPECT_EQ(progress.next().length, kGiB);
  EXPECT_TRUE(progress.advance(kGiB));
  EXPECT_EQ(progress.next().offset, kGiB);
  EXPECT_TRUE(progress.advance(kGiB));
  EXPECT_TRUE(progress.advance(kGiB));
  EXPECT_TRUE(progress.complete());
}

TEST(BlockProgress, APartBeforeTheWantedEndIsWantedWhole) {
  BlockProgress progress({0, 8192}, 100'000, 4096);
  EXPECT_TRUE(progress.advance(8191));
  EXPECT_FALSE(progress.complete());
}

TEST(BlockProgress, BytesThatNeedNoBlocksGoOnWhereTheyEnded) {
  BlockProgress progress({17, 100}, 117, 1);
  EXPECT_TRUE(progress.advance(40));
  EXPECT_EQ(progress.next().offset, 57U);
  EXPECT_EQ(progress.next().length, 60U);
}

}  // namespace
}  // namespace millrace::io
