#include "io/raw_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using testing::HasSubstr;

TEST(RawIndex, CutsAFileIntoBlocksAndARest) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(25, 'x'));
  const RawIndex index({path}, 10, DType::u8);
  ASSERT_EQ(index.pieces(), 3U);
  EXPECT_EQ(index.bytes(), 25U);
  EXPECT_EQ(index.longest(), 10U);
  EXPECT_EQ(*index.piece(0).file, path);
  EXPECT_EQ(index.piece(1).extent.offset, 10U);
  EXPECT_EQ(index.piece(1).extent.length, 10U);
  EXPECT_EQ(index.piece(2).extent.offset, 20U);
  EXPECT_EQ(index.piece(2).extent.length, 5U);
}

TEST(RawIndex, ASmallFileIsOnePieceOfItsOwnLength) {
  const TempDirectory directory;
  const RawIndex index({directory.write("a", "x")}, 1 << 20, DType::u8);
  EXPECT_EQ(index.pieces(), 1U);
  EXPECT_EQ(index.longest(), 1U);
}

TEST(RawIndex, EmptyFilesHaveNoPieces) {
  const TempDirectory directory;
  const RawIndex index({directory.write("a", "")}, 10, DType::i16);
  EXPECT_EQ(index.pieces(), 0U);
  EXPECT_EQ(index.bytes(), 0U);
  EXPECT_EQ(index.longest(), 0U);
  EXPECT_EQ(index.files(), 1U);
}

TEST(RawIndex, CoversEveryByteOfEveryFileOnceAndInOrder) {
  const TempDirectory directory;
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::filesystem::path> files;
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < 1 + random() % 6; ++i) {
      const std::size_t size = random() % 3 == 0 ? 0 : random() % 60;
      files.push_back(directory.write(std::to_string(round) + "_" + std::to_string(i), std::string(size, 'x')));
      bytes += size;
    }
    const std::uint64_t block = 1 + random() % 20;
    const RawIndex index(files, block, DType::u8);
    EXPECT_EQ(index.bytes(), bytes);
    std::uint64_t piece = 0;
    for (const auto& file : files) {
      for (std::uint64_t offset = 0; offset < std::filesystem::file_size(file);) {
        ASSERT_LT(piece, index.pieces());
        const RawIndex::Piece found = index.piece(piece++);
        EXPECT_EQ(*found.file, file);
        EXPECT_EQ(found.extent.offset, offset);
        EXPECT_GT(found.extent.length, 0U);
        EXPECT_LE(found.extent.length, block);
        offset += found.extent.length;
      }
    }
    EXPECT_EQ(piece, index.pieces());
  }
}

TEST(RawIndex, RefusesAFileThatIsNoWholeNumberOfElements) {
  const TempDirectory directory;
  const auto path = directory.write("a", "12345");
  const auto error = error_of([&] { RawIndex({path}, 8, DType::i32); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("5 bytes are not a whole number of i32 (4 bytes each)"));
  EXPECT_EQ(error->path(), path);
}

TEST(RawIndex, RefusesABlockThatIsNoWholeNumberOfElements) {
  const TempDirectory directory;
  const auto path = directory.write("a", "1234");
  EXPECT_EQ(error_of([&] { RawIndex({path}, 6, DType::i32); })->kind(), ErrorKind::config);
  EXPECT_THROW(RawIndex({path}, 0, DType::u8), Error);
}

TEST(RawIndex, RefusesWhatIsNoRegularFile) {
  const TempDirectory directory;
  EXPECT_EQ(error_of([&] { RawIndex({directory.path()}, 8, DType::u8); })->path(), directory.path());
  EXPECT_THROW(RawIndex({"/dev/null"}, 8, DType::u8), Error);
}

}  // namespace
}  // namespace millrace::io
