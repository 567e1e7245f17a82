#include "pipeline/core/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"
#include "tests/core/counting_lender.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
Chunk counted_up(std::size_t elements) {
  Chunk chunk(heap_lender().lend(elements * sizeof(T)), dtype_of<T>());
  auto samples = chunk.samples<T>();
  std::iota(samples.begin(), samples.end(), T{1});
  return chunk;
}

std::uint64_t copied_bytes() { return call_context().tally.copied_bytes; }

TEST(Shape, RankZeroIsOneElement) {
  EXPECT_EQ(Shape().rank(), 0U);
  EXPECT_EQ(Shape().elements(), 1U);
  EXPECT_EQ(Shape().text(), "[]");
}

TEST(Shape, ElementsAreTheProductOfTheExtents) {
  const Shape shape{3, 128, 127};
  EXPECT_EQ(shape.rank(), 3U);
  EXPECT_EQ(shape[0], 3U);
  EXPECT_EQ(shape[2], 127U);
  EXPECT_EQ(shape.elements(), 3U * 128 * 127);
  EXPECT_EQ(shape.text(), "[3, 128, 127]");
}

TEST(Shape, MoreThanFourExtentsAreRefused) {
  EXPECT_EQ((Shape{1, 2, 3, 4}).rank(), 4U);
  EXPECT_THROW((Shape{1, 2, 3, 4, 5}), Error);
}

TEST(Shape, ProductBeyond64BitsIsRefusedAndAZeroExtentIsNone) {
  constexpr std::uint64_t kHalf = 1ULL << 63U;
  EXPECT_EQ((Shape{kHalf, 1}).elements(), kHalf);
  EXPECT_THROW((void)(Shape{kHalf, 2}).elements(), Error);
  EXPECT_EQ((Shape{kHalf, 2, 0}).elements(), 0U);
  EXPECT_EQ((Shape{0, kHalf, 2}).elements(), 0U);
}

TEST(Shape, EqualMeansSameRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 0}));
}

TEST(Chunk, ShapeMustFitTheBufferExactly) {
  EXPECT_EQ(Chunk(heap_lender().lend(24), DType::i16, {3, 4}).elements(), 12U);
  EXPECT_THROW(Chunk(heap_lender().lend(24), DType::i16, {3, 5}), Error);
  EXPECT_THROW(Chunk(heap_lender().lend(25), DType::i16, {3, 4}), Error);
  EXPECT_THROW(Chunk(heap_lender().lend(0), DType::i16, {}), Error);
}

TEST(Chunk, ShapeWhoseBytesWrapAroundIsRefused) {
  constexpr std::uint64_t kQuarter = 1ULL << 62U;  // times 4 bytes is 0 in 64 bits
  EXPECT_THROW(Chunk(heap_lender().lend(0), DType::f32, {kQuarter}), Error);
}

TEST(Chunk, OneDimensionalTakesWhatTheBufferHolds) {
  const Chunk chunk(heap_lender().lend(24), DType::f64);
  EXPECT_EQ(chunk.shape(), (Shape{3}));
  EXPECT_EQ(chunk.size_bytes(), 24U);
  EXPECT_THROW(Chunk(heap_lender().lend(25), DType::f64), Error);
  EXPECT_EQ(Chunk(heap_lender().lend(0), DType::f64).elements(), 0U);
}

TEST(Chunk, ViewNeedsTheChunksOwnType) {
  const Chunk chunk = counted_up<std::int16_t>(3);
  EXPECT_THAT(chunk.view<std::int16_t>(), ElementsAre(1, 2, 3));
  EXPECT_THROW((void)chunk.view<std::uint16_t>(), Error);
  EXPECT_THROW((void)chunk.view<float>(), Error);
  try {
    (void)chunk.view<float>();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("i16"));
    EXPECT_THAT(error.what(), HasSubstr("f32"));
  }
}

TEST(Chunk, ViewOfMisalignedMemoryIsRefused) {
  const Buffer buffer = heap_lender().lend(17);
  const Chunk chunk(buffer.slice(1, 16), DType::f64);
  EXPECT_THROW((void)chunk.view<double>(), Error);
  EXPECT_EQ(Chunk(buffer.slice(1, 16), DType::u8).view<std::uint8_t>().size(), 16U);
}

TEST(Chunk, BytesViewAcceptsAllSpellingsOfAByte) {
  const Chunk chunk = counted_up<std::uint8_t>(2);
  EXPECT_EQ(chunk.view<std::byte>()[1], std::byte{2});
  EXPECT_EQ(chunk.view<char>()[0], 1);
}

TEST(Chunk, SamplesOfAUniqueBufferAreWrittenInPlaceWithoutACopy) {
  const auto before = copied_bytes();
  Chunk chunk = counted_up<std::int16_t>(4);
  const auto* const place = chunk.buffer().data();
  for (auto& sample : chunk.samples<std::int16_t>()) sample = static_cast<std::int16_t>(sample - 1);
  EXPECT_EQ(chunk.buffer().data(), place);
  EXPECT_THAT(chunk.view<std::int16_t>(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(copied_bytes(), before);
}

TEST(Chunk, SamplesOfASharedBufferAreCopiedOnceAndCounted) {
  const auto before = copied_bytes();
  Chunk mine = counted_up<std::int16_t>(4);
  const Chunk theirs = mine;
  mine.samples<std::int16_t>()[0] = 99;
  mine.samples<std::int16_t>()[1] = 98;
  EXPECT_THAT(mine.view<std::int16_t>(), ElementsAre(99, 98, 3, 4));
  EXPECT_THAT(theirs.view<std::int16_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(copied_bytes() - before, 4 * sizeof(std::int16_t));
}

TEST(Chunk, CopyOfASharedBufferIsALoanFromTheOutputLink) {
  test::CountingLender link;
  Chunk mine = counted_up<float>(4);
  const Chunk theirs = mine;
  call_context().lender = &link;
  mine.samples<float>();
  call_context().lender = nullptr;
  EXPECT_EQ(link.lent(), 1);
}

TEST(Chunk, SamplesCheckTheTypeBeforeTheyCopy) {
  const auto before = copied_bytes();
  Chunk mine = counted_up<std::int16_t>(4);
  const Chunk theirs = mine;
  EXPECT_THROW((void)mine.samples<float>(), Error);
  EXPECT_EQ(copied_bytes(), before);
  EXPECT_EQ(mine.buffer().data(), theirs.buffer().data());
}

TEST(Chunk, EmptyChunkHasEmptySamples) {
  Chunk chunk(Buffer(), DType::f32);
  EXPECT_TRUE(chunk.view<float>().empty());
  EXPECT_TRUE(chunk.samples<float>().empty());
}

TEST(Chunk, WithKeepsThePlaceInTheFlow) {
  Chunk chunk = counted_up<std::int16_t>(2);
  chunk.set_sequence(17);
  chunk.set_origin({std::make_shared<const std::filesystem::path>("/a/b"), 100, 4});
  chunk.set_attributes(std::make_shared<const Attributes>(Attributes{{"read_id", "r"}}));

  const Chunk other = chunk.with(heap_lender().lend(12), DType::f32);
  EXPECT_EQ(other.sequence(), 17U);
  EXPECT_EQ(*other.origin().file, "/a/b");
  EXPECT_EQ(other.origin().offset, 100U);
  EXPECT_EQ(other.origin().length, 4U);
  EXPECT_EQ(other.shared_attributes(), chunk.shared_attributes());
  EXPECT_EQ(other.dtype(), DType::f32);
  EXPECT_EQ(other.shape(), (Shape{3}));
}

TEST(Chunk, WithChecksLikeTheConstructors) {
  const Chunk chunk = counted_up<std::int16_t>(2);
  EXPECT_THROW(chunk.with(heap_lender().lend(13), DType::f32), Error);
  EXPECT_THROW(chunk.with(heap_lender().lend(12), DType::f32, {2}), Error);
}

TEST(Chunk, AttributesAreAnEmptySetWhenThereAreNone) {
  EXPECT_TRUE(Chunk().attributes().entries().empty());
  EXPECT_EQ(Chunk().shared_attributes(), nullptr);
}

}  // namespace
}  // namespace millrace
