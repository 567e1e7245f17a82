#include "io/pod5_vbz.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <vector>

#include "io/stream_vbyte16.h"
#include "pipeline/core/error.h"
#include "tests/support/pod5_files.h"

namespace millrace::io {
namespace {

using Samples = std::vector<std::int16_t>;

std::vector<std::byte> frame_of(const std::vector<std::byte>& stream) {
  std::vector<std::byte> frame(ZSTD_compressBound(stream.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), stream.data(), stream.size(), 1));
  return frame;
}

void decode(std::span<const std::byte> row, std::size_t count) {
  Pod5VbzDecoder decoder;
  Samples samples(count);
  decoder.decode(row, samples);
}

TEST(Pod5Vbz, GivesBackWhatItWasGiven) {
  Pod5VbzEncoder encoder;
  Pod5VbzDecoder decoder;
  for (const std::size_t count : {1U, 7U, 8U, 9U, 1000U, 102'400U}) {
    const Samples samples = test::made_signal(count, count);
    const auto row = encoder.encode(samples);
    Samples back(count);
    decoder.decode(row, back);
    EXPECT_EQ(back, samples) << count;
  }
}

TEST(Pod5Vbz, ARowWithoutSamplesNeedsNoBytes) {
  decode({}, 0);
  EXPECT_THROW(decode({}, 1), Error);
}

TEST(Pod5Vbz, RefusesAnotherNumberOfSamples) {
  Pod5VbzEncoder encoder;
  const auto row = encoder.encode(test::made_signal(1, 100));
  EXPECT_THROW(decode(row, 99), Error);
  EXPECT_THROW(decode(row, 101), Error);
  EXPECT_THROW(decode(row.first(row.size() - 1), 100), Error);
}

TEST(Pod5Vbz, RefusesABombBeforeItTakesMemory) {
  // 64 MiB of zeros in a few kilobytes, told to be eight samples.
  const auto bomb = frame_of(std::vector<std::byte>(64U << 20));
  Pod5VbzDecoder decoder;
  Samples samples(8);
  EXPECT_THROW(decoder.decode(bomb, samples), Error);
  EXPECT_EQ(decoder.scratch_bytes(), 0U);
}

TEST(Pod5Vbz, RefusesAFrameThatDoesNotSayItsSize) {
  std::vector<std::byte> frame(100);
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  const std::vector<std::byte> stream(2);
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), stream.data(), stream.size()));
  ZSTD_freeCCtx(context);
  EXPECT_THROW(decode(frame, 1), Error);
}

}  // namespace
}  // namespace millrace::io
