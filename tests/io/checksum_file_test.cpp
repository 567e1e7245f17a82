#include "io/checksum_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const auto byte : bytes) text += static_cast<char>(byte);
  return text;
}

/// The head of a .meta file: version 1, a type, pieces of 512 bytes.
std::string hdfs_head(char type) { return std::string({0, 1, type, 0, 0, 2, 0}); }

TEST(ChecksumFile, ReadsItsOwnLayout) {
  const TempDirectory directory;
  const auto path =
      directory.write("a.crc32c", text_of(checksum_header(4, 10)) + std::string("\1\0\0\0\2\0\0\0\3\0\0\xff", 12));
  ChecksumFile file(path, 10);
  EXPECT_EQ(file.kind(), ChecksumKind::crc32c);
  EXPECT_EQ(file.piece_bytes(), 4U);
  std::vector<std::uint32_t> sums;
  file.read(0, 3, sums);
  EXPECT_THAT(sums, ElementsAre(1U, 2U, 0xff000003U));
  file.read(1, 1, sums);
  EXPECT_THAT(sums, ElementsAre(2U));
}

TEST(ChecksumFile, ReadsTheLayoutOfHdfs) {
  const TempDirectory directory;
  for (const auto& [type, kind] : {std::pair{'\1', ChecksumKind::crc32}, std::pair{'\2', ChecksumKind::crc32c}}) {
    const auto path = directory.write("blk_1_1001.meta", hdfs_head(type) + std::string("\0\0\0\1\xff\0\0\2", 8));
    ChecksumFile file(path, 1000);
    EXPECT_EQ(file.kind(), kind);
    EXPECT_EQ(file.piece_bytes(), 512U);
    std::vector<std::uint32_t> sums;
    file.read(0, 2, sums);
    EXPECT_THAT(sums, ElementsAre(1U, 0xff000002U));
  }
}

TEST(ChecksumFile, RefusesWhatIsNone) {
  const TempDirectory directory;
  const std::string own = text_of(checksum_header(4, 10));
  std::string newer = own;
  newer[8] = 2;
  for (const auto& [contents, bytes, message] : std::vector<std::tuple<std::string, std::uint64_t, std::string>>{
           {"", 0, "neither"},
           {"hello, this is some text", 10, "neither"},
           {std::string("\0\1", 2), 10, "neither"},
           {hdfs_head(0), 0, "type 0"},
           {hdfs_head(7), 0, "type 7"},
           {std::string("\0\1\2\0\0\0\0", 7), 0, "pieces of 0 bytes"},
           {hdfs_head(2), 1, "it would have 11"},
           {hdfs_head(2) + "abcdefgh", 512, "it would have 11"},
           {own + "abcd", 10, "it would have 36"},
           {own, 11, "is for a file of 10 bytes"},
           {newer + std::string(12, 'x'), 10, "version 2"},
           {text_of(checksum_header(0, 10)), 10, "pieces of 0 bytes"}}) {
    const auto path = directory.write("sums", contents);
    const auto error = error_of([&, size = bytes] { ChecksumFile(path, size); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr(message));
    EXPECT_EQ(error->path(), path);
  }
  EXPECT_THROW(ChecksumFile(directory / "missing", 1), Error);
}

TEST(ChecksumFile, AFileThatShrinksIsAnErrorWithItsPlace) {
  const TempDirectory directory;
  const auto path = directory.write("a.meta", hdfs_head(2) + std::string(40, 'x'));
  ChecksumFile file(path, 10 * 512);
  std::filesystem::resize_file(path, 20);
  std::vector<std::uint32_t> sums;
  const auto error = error_of([&] { file.read(0, 10, sums); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("truncated"));
  EXPECT_EQ(error->offset(), 20U);
}

TEST(FindChecksumFile, TakesTheNearestKind) {
  const TempDirectory directory;
  const auto data = directory.write("blk_7", "x");
  EXPECT_FALSE(find_checksum_file(data));
  directory.write("blk_7_x.meta", "");
  directory.write("blk_70_1.meta", "");
  directory.write("blk_7_.meta", "");
  EXPECT_FALSE(find_checksum_file(data));
  directory.write("blk_7_1001.meta", "");
  EXPECT_EQ(find_checksum_file(data), directory / "blk_7_1001.meta");
  directory.write("blk_7_1002.meta", "");
  EXPECT_THAT(error_of([&] { find_checksum_file(data); })->message(), HasSubstr("several side-cars"));
  directory.write("blk_7.meta", "");
  EXPECT_EQ(find_checksum_file(data), directory / "blk_7.meta");
  directory.write("blk_7.crc32c", "");
  EXPECT_EQ(find_checksum_file(data), directory / "blk_7.crc32c");
}

}  // namespace
}  // namespace millrace::io
