#include "stages/verify_crc32c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "io/crc32c.h"
#include "stages/checksum_writer.h"
#include "stages/raw_reader.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kBytes = 10'000;

class VerifyCrc32cTest : public testing::Test {
 protected:
  VerifyCrc32cTest() {
    std::string contents(kBytes, '\0');
    for (std::size_t i = 0; i < kBytes; ++i) contents[i] = static_cast<char>(i * 31 + i / 256);
    data_ = directory_.write("data", contents);
  }

  void write_checksums(const std::string& piece = "512 B") const {
    ChecksumWriter writer(options_of({{"path", data_.string() + ".crc32c"}, {"piece", piece}}));
    writer.prepare({DType::u8, "bytes", kBytes});
    test::drive(writer, chunks("3 kB"));
  }
  std::vector<Chunk> chunks(const std::string& block) const {
    const OptionValue::Table via = std::make_shared<const Options>(options_of({{"block", block}}));
    RawReader reader(options_of({{"path", data_.string()}, {"via", via}}));
    reader.prepare();
    std::vector<Chunk> result;
    for (std::uint64_t i = 0; auto chunk = reader.produce(i); ++i) result.push_back(std::move(*chunk));
    return result;
  }
  void damage(std::size_t offset) const {
    std::string contents = test::contents_of(data_);
    contents[offset] = static_cast<char>(contents[offset] + 1);
    directory_.write("data", contents);
  }
  /// The stage, and what it lets through of the file in blocks of 2 KiB.
  std::pair<std::unique_ptr<VerifyCrc32c>, std::vector<Chunk>> run(const std::string& on_mismatch) const {
    auto stage = std::make_unique<VerifyCrc32c>(options_of({{"on_mismatch", on_mismatch}}));
    stage->prepare({DType::u8, "bytes", 2048});
    auto through = test::drive(*stage, chunks("2 KiB"));
    return {std::move(stage), std::move(through)};
  }

  test::TempDirectory directory_;
  std::filesystem::path data_;
};

TEST_F(VerifyCrc32cTest, PassesWhatIsRightInTheSameMemory) {
  write_checksums();
  VerifyCrc32c stage(options_of({}));
  stage.prepare({DType::u8, "bytes", 2048});
  for (Chunk& chunk : chunks("2 KiB")) {
    const std::byte* const before = chunk.bytes().data();
    const auto after = stage.process(std::move(chunk));
    ASSERT_TRUE(after);
    EXPECT_EQ(after->bytes().data(), before);
  }
  EXPECT_THAT(stage.findings().lines, ElementsAre("0 of 20 pieces did not match their checksums"));
  EXPECT_THAT(stage.findings().refused, IsEmpty());
}

TEST_F(VerifyCrc32cTest, FailsWithFileOffsetAndBothSums) {
  write_checksums();
  damage(5000);
  const auto error = error_of([&] { run("fail"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), testing::MatchesRegex("checksum mismatch: expected 0x[0-9a-f]+, found 0x[0-9a-f]+"));
  EXPECT_EQ(error->path(), data_);
  EXPECT_EQ(error->offset(), 4608U);  // the piece that byte 5000 is in
}

TEST_F(VerifyCrc32cTest, SkipsOrCounts) {
  write_checksums();
  damage(0);
  damage(5000);
  damage(kBytes - 1);
  const auto [skipping, left] = run("skip");
  EXPECT_EQ(left.size(), 2U);
  ASSERT_EQ(skipping->findings().refused.size(), 1U);
  EXPECT_EQ(skipping->findings().refused.front().reason, "checksum mismatch");
  EXPECT_EQ(skipping->findings().refused.front().chunks, 3U);

  const auto [counting, all] = run("count");
  EXPECT_EQ(all.size(), 5U);
  EXPECT_THAT(counting->findings().refused, IsEmpty());
  EXPECT_THAT(counting->findings().lines, ElementsAre("3 of 20 pieces did not match their checksums",
                                                      HasSubstr("data: offset 0: checksum mismatch"),
                                                      HasSubstr("offset 4608"), HasSubstr("offset 9728")));
}

TEST_F(VerifyCrc32cTest, ChecksBlocksOfHdfs) {
  std::string meta({0, 1, 2, 0, 0, 4, 0});
  const std::string contents = test::contents_of(data_);
  for (std::size_t at = 0; at < kBytes; at += 1024) {
    const std::uint32_t sum = io::crc32c(test::bytes_of(contents.substr(at, 1024)));
    for (const unsigned shift : {24U, 16U, 8U, 0U}) meta += static_cast<char>(sum >> shift);
  }
  directory_.write("data_1001.meta", meta);
  EXPECT_EQ(run("fail").second.size(), 5U);
  damage(1024);
  EXPECT_EQ(error_of([&] { run("fail"); })->offset(), 1024U);
}

TEST_F(VerifyCrc32cTest, SaysWhatItNeeds) {
  EXPECT_THAT(error_of([&] { run("fail"); })->message(), HasSubstr("has no checksums beside it"));
  write_checksums("4 KiB");
  EXPECT_THAT(error_of([&] { run("fail"); })->message(), HasSubstr("pieces of 4.00 KiB: the reader's block must be"));
  VerifyCrc32c stage(options_of({}));
  EXPECT_THAT(error_of([&] { stage.process(test::chunk_of(std::vector<std::uint8_t>(5))); })->message(),
              HasSubstr("right behind a raw_reader"));
  EXPECT_THAT(error_of([] {
                VerifyCrc32c(options_of({{"on_mismatch", "shrug"}}));
              })->message(),
              HasSubstr("must be fail, skip or count"));
}

TEST_F(VerifyCrc32cTest, WarnsOfTinyChunksWithTheArithmetic) {
  VerifyCrc32c stage(options_of({}));
  stage.prepare({DType::u8, "bytes", 64 << 10});
  EXPECT_THAT(stage.plan_notes(), ElementsAre(HasSubstr("16384 reads per GiB")));
  stage.prepare({DType::u8, "bytes", 4 << 20});
  EXPECT_THAT(stage.plan_notes(), IsEmpty());
}

}  // namespace
}  // namespace millrace
