#include "stages/checksum_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "io/checksum_file.h"
#include "io/crc32c.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using testing::ElementsAre;
using testing::HasSubstr;

Chunk chunk_of_text(const std::string& text) {
  return test::chunk_of(std::vector<std::uint8_t>(text.begin(), text.end()));
}

TEST(ChecksumWriter, CoversTheStreamInPiecesWhateverTheChunks) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 20; ++round) {
    const test::TempDirectory directory;
    const auto path = directory / "out.crc32c";
    ChecksumWriter writer(options_of({{"path", path.string()}, {"piece", "100 B"}}));
    writer.prepare({DType::u8, "bytes", 1000});
    std::string all;
    std::vector<Chunk> chunks;
    for (int i = 0; i < 12; ++i) {
      const std::string part(random() % 350, static_cast<char>('a' + i));
      all += part;
      chunks.push_back(chunk_of_text(part));
    }
    test::drive(writer, std::move(chunks));
    io::ChecksumFile file(path, all.size());
    const std::uint64_t pieces = (all.size() + 99) / 100;
    std::vector<std::uint32_t> sums;
    file.read(0, pieces, sums);
    for (std::size_t i = 0; i < pieces; ++i) {
      EXPECT_EQ(sums[i], io::crc32c(test::bytes_of(all.substr(i * 100, 100)))) << i;
    }
    EXPECT_EQ(writer.outputs().front().path, std::filesystem::canonical(path));
  }
}

TEST(ChecksumWriter, AnEmptyStreamHasAnEmptyList) {
  const test::TempDirectory directory;
  ChecksumWriter writer(options_of({{"path", (directory / "a").string()}}));
  writer.prepare({DType::u8, "bytes", 1});
  test::drive(writer, {});
  EXPECT_EQ(io::ChecksumFile(directory / "a", 0).piece_bytes(), 4096U);
}

TEST(ChecksumWriter, AnInterruptedStreamHasThePartialName) {
  const test::TempDirectory directory;
  ChecksumWriter writer(options_of({{"path", (directory / "a").string()}}));
  writer.prepare({DType::u8, "bytes", 1});
  std::vector<Chunk> chunks;
  chunks.push_back(chunk_of_text("hello"));
  test::drive(writer, std::move(chunks), Sink::End::interrupted);
  EXPECT_THAT(directory.names(), ElementsAre("a.partial"));
}

TEST(ChecksumWriter, RefusesPiecesOfNothing) {
  EXPECT_THAT(error_of([] {
                ChecksumWriter(options_of({{"path", "/tmp/x"}, {"piece", "0 B"}}));
              })->message(),
              HasSubstr("'piece' must be between"));
}

}  // namespace
}  // namespace millrace
