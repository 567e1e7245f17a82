#include "stages/encode_zstd.h"

#include <gtest/gtest.h>
#include <zstd.h>

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

/// All frames of a stream, by the library's streaming decoder with small steps; Error text when it does not decode.
Contents decoded(const Contents& stream) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  Contents result;
  Contents piece(1000);
  std::size_t hint = 0;
  ZSTD_inBuffer in{stream.data(), stream.size(), 0};
  while (true) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    hint = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(hint) != 0) throw Error(ZSTD_getErrorName(hint));
    result.insert(result.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(out.pos));
    if (in.pos == in.size && (hint == 0 || out.pos < out.size)) break;
  }
  if (hint != 0) throw Error("the stream ends within a frame");
  return result;
}

class EncodeZstdTest : public testing::TestWithParam<int> {};

TEST_P(EncodeZstdTest, MakesFramesThatDecodeToTheContents) {
  EncodeZstd stage(test::options_of({{"level", std::int64_t{GetParam()}}}));
  stage.prepare({DType::u8, "bytes", 200000});
  Contents all;
  Contents stream;
  for (const Contents& contents : test::byte_samples(7, 200000)) {
    const auto frame = test::values_of<std::byte>(*stage.process(test::chunk_of(contents)));
    EXPECT_EQ(ZSTD_getFrameContentSize(frame.data(), frame.size()), contents.size());
    EXPECT_EQ(decoded(frame), contents) << contents.size() << " bytes";
    all.insert(all.end(), contents.begin(), contents.end());
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  EXPECT_EQ(decoded(stream), all);
}

INSTANTIATE_TEST_SUITE_P(Levels, EncodeZstdTest, testing::Values(-5, 1, 3, 9, 19));

TEST(EncodeZstd, AnnouncesTheWorstCaseAndKeepsToIt) {
  std::mt19937_64 random(3);
  const Contents noise = test::random_bytes(random, 5000);
  EncodeZstd stage{Options()};
  const ChunkType out = stage.prepare({DType::u8, "bytes", 5000});
  EXPECT_EQ(out.dtype, DType::u8);
  EXPECT_EQ(out.content, "zstd");
  EXPECT_EQ(out.decoded_max_bytes, 5000);
  EXPECT_EQ(out.max_bytes, ZSTD_compressBound(5000));
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  const auto frame = stage.process(test::chunk_of(noise));
  EXPECT_GT(frame->size_bytes(), 5000);
  EXPECT_EQ(lender.largest_loan(), out.max_bytes);
}

TEST(EncodeZstd, EncodesElementsOfAnyTypeAndKeepsPlaceAndAttributes) {
  EncodeZstd stage{Options()};
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

TEST(EncodeZstd, PutsAChecksumIntoTheFrameUnlessToldNotTo) {
  const Contents contents(1000, std::byte{7});
  const auto frame_of = [&contents](const Options& options) {
    EncodeZstd stage(options);
    stage.prepare({DType::u8, "bytes", 1000});
    return test::values_of<std::byte>(*stage.process(test::chunk_of(contents)));
  };
  Contents with = frame_of(Options());
  const Contents without = frame_of(test::options_of({{"checksum", false}}));
  EXPECT_EQ(with.size(), without.size() + 4);
  with.back() ^= std::byte{1};
  EXPECT_THROW(decoded(with), Error);
}

TEST(EncodeZstd, HasAllItsMemoryAfterPrepare) {
  std::mt19937_64 random(4);
  const Contents contents = test::random_text(random, 300000);
  for (const int level : {1, 3, 12}) {
    EncodeZstd stage(test::options_of({{"level", std::int64_t{level}}}));
    const std::size_t at_first = test::heap_in_use();
    stage.prepare({DType::u8, "bytes", contents.size()});
    const std::size_t prepared = test::heap_in_use();
    EXPECT_LT(prepared - at_first, stage.state_bytes() + 4096) << "level " << level;
    for (const std::size_t bytes : {contents.size(), std::size_t{100}, contents.size() / 2, contents.size()}) {
      stage.process(test::chunk_of(std::span(contents).first(bytes)));
    }
    EXPECT_LT(test::heap_in_use(), prepared + 4096) << "level " << level;
  }
}

TEST(EncodeZstd, AllocatesNothingPerChunk) {
  EncodeZstd stage{Options()};
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

TEST(EncodeZstd, PassesOnThatTheLargestChunkIsUnknown) {
  EncodeZstd stage{Options()};
  EXPECT_EQ(stage.prepare({DType::u8, "bytes", 0}).max_bytes, 0);
  EXPECT_EQ(decoded(test::values_of<std::byte>(*stage.process(test::chunk_of(Contents(10))))), Contents(10));
}

TEST(EncodeZstd, RefusesALevelThatZstdHasNot) {
  const auto error = test::error_of([] { EncodeZstd(test::options_of({{"level", std::int64_t{23}}})); });
  EXPECT_EQ(error->kind(), ErrorKind::config);
  EXPECT_STREQ(error->what(), "test.toml:7:3: 'level' must be between -131072 and 22, not 23");
}

TEST(EncodeZstd, RefusesAChunkTooLargeForOneFrame) {
  EncodeZstd stage{Options()};
  const auto error = test::error_of([&] { stage.prepare({DType::u8, "bytes", ~std::uint64_t{0}}); });
  EXPECT_EQ(error->kind(), ErrorKind::config);
}

}  // namespace
}  // namespace millrace
