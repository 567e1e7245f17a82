#include "stages/encode_lz4.h"

#include <gtest/gtest.h>
#include <lz4frame.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/support/allocation_count.h"
#include "tests/support/byte_samples.h"
#include "tests/support/heap_in_use.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

using test::Contents;

/// All frames of a stream, by the library's streaming decoder with small steps; Error when it does not decode.
Contents decoded(const Contents& stream) {
  LZ4F_dctx* made = nullptr;
  LZ4F_createDecompressionContext(&made, LZ4F_VERSION);
  const std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> context(made,
                                                                                     &LZ4F_freeDecompressionContext);
  Contents result;
  Contents piece(1000);
  std::size_t hint = 1;
  std::size_t done = 0;
  while (true) {
    std::size_t written = piece.size();
    std::size_t read = stream.size() - done;
    hint = LZ4F_decompress(context.get(), piece.data(), &written, stream.data() + done, &read, nullptr);
    if (LZ4F_isError(hint) != 0) throw Error(LZ4F_getErrorName(hint));
    done += read;
    result.insert(result.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(written));
    if (done == stream.size() && (hint == 0 || written < piece.size())) break;
  }
  if (hint != 0) throw Error("the stream ends within a frame");
  return result;
}

std::uint64_t content_bytes(const Contents& frame) {
  LZ4F_dctx* made = nullptr;
  LZ4F_createDecompressionContext(&made, LZ4F_VERSION);
  const std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> context(made,
                                                                                     &LZ4F_freeDecompressionContext);
  LZ4F_frameInfo_t info{};
  std::size_t bytes = frame.size();
  LZ4F_getFrameInfo(context.get(), &info, frame.data(), &bytes);
  return info.contentSize;
}

LZ4F_preferences_t with_checksum() {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  return preferences;
}

class EncodeLz4Test : public testing::TestWithParam<int> {};

TEST_P(EncodeLz4Test, MakesFramesThatDecodeToTheContents) {
  EncodeLz4 stage(test::options_of({{"level", std::int64_t{GetParam()}}}));
  stage.prepare({DType::u8, "bytes", 200000});
  Contents all;
  Contents stream;
  for (const Contents& contents : test::byte_samples(7, 200000)) {
    const auto frame = test::values_of<std::byte>(*stage.process(test::chunk_of(contents)));
    EXPECT_EQ(content_bytes(frame), contents.size());
    EXPECT_EQ(decoded(frame), contents) << contents.size() << " bytes";
    all.insert(all.end(), contents.begin(), contents.end());
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  EXPECT_EQ(decoded(stream), all);
}

INSTANTIATE_TEST_SUITE_P(Levels, EncodeLz4Test, testing::Values(-5, 0, 1, 3, 9, 12));

TEST(EncodeLz4, AnnouncesTheWorstCaseAndKeepsToIt) {
  std::mt19937_64 random(3);
  const Contents noise = test::random_bytes(random, 5000);
  EncodeLz4 stage{Options()};
  const ChunkType out = stage.prepare({DType::u8, "bytes", 5000});
  EXPECT_EQ(out.dtype, DType::u8);
  EXPECT_EQ(out.content, "lz4");
  EXPECT_EQ(out.decoded_max_bytes, 5000);
  const LZ4F_preferences_t preferences = with_checksum();
  EXPECT_EQ(out.max_bytes, LZ4F_compressFrameBound(5000, &preferences));
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  const auto frame = stage.process(test::chunk_of(noise));
  EXPECT_GT(frame->size_bytes(), 5000);
  EXPECT_EQ(lender.largest_loan(), out.max_bytes);
}

TEST(EncodeLz4, EncodesElementsOfAnyTypeAndKeepsPlaceAndAttributes) {
  EncodeLz4 stage{Options()};
  stage.prepare({DType::f32, "events", 5000});
  const auto attributes = std::make_shared<Attributes>();
  Chunk input = test::chunk_of(std::vector<float>{1, 2, 3, 4, 5, 6}, attributes);
  input = input.with(Buffer(input.buffer()), DType::f32, {2, 3});
  input.set_sequence(5);
  const auto frame = stage.process(std::move(input));
  EXPECT_EQ(frame->dtype(), DType::u8);
  EXPECT_EQ(frame->shape(), Shape({frame->size_bytes()}));
  EXPECT_EQ(frame->sequence(), 5);
  EXPECT_EQ(frame->shared_attributes(), attributes);
}

TEST(EncodeLz4, PutsAChecksumIntoTheFrameUnlessToldNotTo) {
  const Contents contents(1000, std::byte{7});
  const auto frame_of = [&contents](const Options& options) {
    EncodeLz4 stage(options);
    stage.prepare({DType::u8, "bytes", 1000});
    return test::values_of<std::byte>(*stage.process(test::chunk_of(contents)));
  };
  Contents with = frame_of(Options());
  const Contents without = frame_of(test::options_of({{"checksum", false}}));
  EXPECT_EQ(with.size(), without.size() + 4);
  with.back() ^= std::byte{1};
  EXPECT_THROW(decoded(with), Error);
}

TEST(EncodeLz4, HasAllItsMemoryAfterPrepare) {
  for (const int level : {0, 9}) {
    EncodeLz4 stage(test::options_of({{"level", std::int64_t{level}}}));
    const std::size_t at_first = test::heap_in_use();
    stage.prepare({DType::u8, "bytes", 300000});
    const std::size_t prepared = test::heap_in_use();
    EXPECT_LT(prepared - at_first, stage.state_bytes() + 4096) << "level " << level;
    for (const std::size_t bytes : {300000, 100, 150000, 300000}) stage.process(test::chunk_of(Contents(bytes)));
    EXPECT_LT(test::heap_in_use(), prepared + 4096) << "level " << level;
  }
}

TEST(EncodeLz4, LinksTheBlocksOfALargeChunk) {
  std::mt19937_64 random(5);
  Contents contents = test::random_text(random, 1 << 20);
  for (int i = 0; i < 3; ++i) contents.insert(contents.end(), contents.begin(), contents.end());
  contents.resize(contents.size() + 12345, std::byte{'x'});
  for (const int level : {0, 3}) {
    EncodeLz4 stage(test::options_of({{"level", std::int64_t{level}}}));
    stage.prepare({DType::u8, "bytes", contents.size()});
    const auto frame = test::values_of<std::byte>(*stage.process(test::chunk_of(contents)));
    EXPECT_EQ(content_bytes(frame), contents.size());
    EXPECT_TRUE(decoded(frame) == contents) << "level " << level;
  }
}

TEST(EncodeLz4, AllocatesNothingPerChunk) {
  EncodeLz4 stage{Options()};
  stage.prepare({DType::u8, "bytes", 5000});
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  const Contents contents(5000, std::byte{7});
  stage.process(test::chunk_of(contents));
  Chunk input = test::chunk_of(contents);
  const auto before = test::allocations_of_this_thread();
  stage.process(std::move(input));
  EXPECT_EQ(test::allocations_of_this_thread(), before);
}

TEST(EncodeLz4, PassesOnThatTheLargestChunkIsUnknown) {
  EncodeLz4 stage{Options()};
  EXPECT_EQ(stage.prepare({DType::u8, "bytes", 0}).max_bytes, 0);
  EXPECT_EQ(decoded(test::values_of<std::byte>(*stage.process(test::chunk_of(Contents(10))))), Contents(10));
}

TEST(EncodeLz4, RefusesALevelThatLz4HasNot) {
  const auto error = test::error_of([] { EncodeLz4(test::options_of({{"level", std::int64_t{13}}})); });
  EXPECT_EQ(error->kind(), ErrorKind::config);
  EXPECT_STREQ(error->what(), "test.toml:7:3: 'level' must be between -65536 and 12, not 13");
}

}  // namespace
}  // namespace millrace
