#include "io/alignment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "io/buffer_pool.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

TEST(Alignment, RoundsToBlocks) {
  struct Case {
    std::uint64_t bytes, step, down, up;
  };
  for (const Case& one :
       {Case{0, 4096, 0, 0}, Case{1, 4096, 0, 4096}, Case{4095, 4096, 0, 4096}, Case{4096, 4096, 4096, 4096},
        Case{4097, 4096, 4096, 8192}, Case{511, 512, 0, 512}, Case{512, 512, 512, 512}, Case{7, 1, 7, 7},
        Case{(1ULL << 40) + 1, 4096, 1ULL << 40, (1ULL << 40) + 4096}}) {
    EXPECT_EQ(round_down(one.bytes, one.step), one.down) << one.bytes;
    EXPECT_EQ(round_up(one.bytes, one.step), one.up) << one.bytes;
  }
}

TEST(Alignment, WholeBlocksHoldTheExtentAndNoBlockMore) {
  struct Case {
    Extent extent;
    std::uint64_t block;
    Extent blocks;
  };
  for (const Case& one :
       {Case{{0, 1}, 4096, {0, 4096}}, Case{{0, 4096}, 4096, {0, 4096}}, Case{{4095, 1}, 4096, {0, 4096}},
        Case{{4095, 2}, 4096, {0, 8192}}, Case{{4096, 4096}, 4096, {4096, 4096}},
        Case{{5000, 10'000}, 4096, {4096, 12'288}}, Case{{5000, 10'000}, 512, {4608, 10'752}},
        Case{{100, 400}, 512, {0, 512}}, Case{{100, 413}, 512, {0, 1024}}, Case{{17, 5}, 1, {17, 5}},
        Case{{65'535, 2}, 65'536, {0, 131'072}}}) {
    const Extent blocks = whole_blocks(one.extent, one.block);
    EXPECT_EQ(blocks.offset, one.blocks.offset) << one.extent.offset << " + " << one.extent.length;
    EXPECT_EQ(blocks.length, one.blocks.length) << one.extent.offset << " + " << one.extent.length;
  }
}

TEST(Alignment, ThePaddingCoversTheBlocksAndTheirPlaceInMemory) {
  for (std::uint64_t offset = 4000; offset < 4200; ++offset) {
    for (std::uint64_t length = 1; length < 9000; length += 7) {
      EXPECT_LE(whole_blocks({offset, length}, 4096).length + 4095, length + kDirectPadding);
    }
  }
}

TEST(Alignment, LoansFromTheHeapAndFromAPoolBeginWhereTheyShould) {
  for (const std::uint64_t alignment : {1, 512, 4096, 65'536}) {
    std::vector<Buffer> kept;
    for (int i = 0; i < 20; ++i) {
      const Buffer& buffer = kept.emplace_back(loan_aligned(5000, alignment));
      EXPECT_TRUE(is_aligned(buffer.data(), alignment));
      EXPECT_EQ(buffer.size(), 5000U);
    }
  }
  BufferPool pool(8192 + 4095, 2);
  const test::LendFrom lend(pool);
  const Buffer buffer = loan_aligned(8192, 4096);
  EXPECT_EQ(buffer.data(), buffer.block()->data) << "memory of a pool is aligned as it is";
  EXPECT_EQ(pool.allocations(), 2U);
}

TEST(Alignment, IsAtLeastWhatTheFileSystemSays) {
  const test::TempDirectory directory;
  const FileDescriptor file = create_output(directory / "a");
  struct statx status {};
  ASSERT_EQ(::statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &status), 0);
  const Alignment alignment = direct_alignment(file);
  EXPECT_GE(alignment.offset, 4096U);
  if ((status.stx_mask & STATX_DIOALIGN) != 0 && status.stx_dio_offset_align != 0) {
    EXPECT_TRUE(alignment.promised);
    EXPECT_EQ(alignment.offset % status.stx_dio_offset_align, 0U);
    EXPECT_EQ(alignment.memory % status.stx_dio_mem_align, 0U);
  } else {
    EXPECT_FALSE(alignment.promised);
    EXPECT_EQ(alignment.offset, 4096U);
    EXPECT_EQ(alignment.memory, 4096U);
  }
}

TEST(Alignment, OfWhatIsNoOpenFileIsNotPromised) {
  EXPECT_FALSE(direct_alignment(FileDescriptor()).promised);
  EXPECT_FALSE(set_direct(FileDescriptor(), true));
}

TEST(Alignment, DirectIsSwitchedOnAndOff) {
  const test::TempDirectory directory;
  const FileDescriptor file = create_output(directory / "a");
  if (!set_direct(file, true)) GTEST_SKIP() << "no direct I/O in the directory of the tests";
  EXPECT_NE(::fcntl(file.get(), F_GETFL) & O_DIRECT, 0);
  EXPECT_TRUE(set_direct(file, true));
  EXPECT_TRUE(set_direct(file, false));
  EXPECT_EQ(::fcntl(file.get(), F_GETFL) & O_DIRECT, 0);
}

}  // namespace
}  // namespace millrace::io
