#include "stages/command_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/stage_driver.h"

namespace millrace::command {
namespace {

using test::chunk_of;
using test::error_of;
using testing::HasSubstr;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The whole frame of a chunk, as the program reads it.
std::string frame_of(const Chunk& chunk) { return chunk_opening(chunk) + text_of(chunk.bytes()); }

/// Feeds a stream in pieces of `piece` bytes.
std::vector<Reply> replies_in(const std::string& stream, const ChunkType& type, std::size_t piece) {
  ReplyReader reader(type);
  std::vector<Reply> replies;
  for (std::size_t at = 0; at < stream.size();) {
    const auto room = reader.room();
    EXPECT_FALSE(room.empty());
    const std::size_t bytes = std::min({piece, room.size(), stream.size() - at});
    std::memcpy(room.data(), stream.data() + at, bytes);
    at += bytes;
    if (auto reply = reader.filled(bytes)) replies.push_back(std::move(*reply));
  }
  EXPECT_FALSE(reader.in_a_frame());
  return replies;
}

std::string message_for(const std::string& stream, const ChunkType& type = {DType::i16, "signal", 64}) {
  const auto error = error_of([&] { replies_in(stream, type, 7); });
  return error ? error->message() : "";
}

/// One frame of a chunk with single bytes replaced.
std::string damaged(std::size_t at, char value) {
  Chunk chunk = chunk_of(std::vector<std::int16_t>{1, 2, 3, 4});
  chunk.set_sequence(5);
  std::string frame = frame_of(chunk);
  frame.at(at) = value;
  return frame;
}

TEST(CommandProtocol, FrameOfAChunkIsAsDescribed) {
  Chunk chunk = chunk_of(std::vector<std::int16_t>{1, -2}, std::make_shared<const Attributes>(Attributes{{"id", "a"}}));
  chunk.set_sequence(0x0102);
  using namespace std::string_literals;
  const std::string expected = "MRC1"s + "\2\0\0\0"s + "\x44\0\0\0\0\0\0\0"s +  // head: kind 2, 68 bytes follow
                               "\2\1\0\0\0\0\0\0"s + "\3"s + "\1"s + "\0\0"s +
                               "\x10\0\0\0"s +  // sequence, i16, rank 1, 16 bytes of attributes
                               "\2\0\0\0\0\0\0\0"s + std::string(24, '\0') +  // extents
                               "{\"id\":\"a\"}      " + "\1\0\xfe\xff"s;
  EXPECT_EQ(frame_of(chunk), expected);
}

TEST(CommandProtocol, WhatIsSentBackIsTheSameChunk) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int16_t> values(random() % 400);
    for (auto& value : values) value = static_cast<std::int16_t>(random());
    auto attributes = std::make_shared<Attributes>();
    for (std::uint64_t i = random() % 6; i > 0; --i) {
      const std::string name = "a" + std::to_string(i);
      switch (random() % 3) {
        case 0:
          attributes->set(name, static_cast<std::int64_t>(random()));
          break;
        case 1:
          attributes->set(name, std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 100) - 90));
          break;
        default:
          attributes->set(name, std::string("\"\\\n\x01 \xc3\xa9") + std::to_string(random()));
      }
    }
    Chunk chunk = chunk_of(values, attributes);
    chunk.set_sequence(random());
    const auto replies = replies_in(frame_of(chunk), {DType::i16, "signal", 800}, 1 + random() % 200);
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies[0].kind, FrameKind::chunk);
    EXPECT_EQ(replies[0].sequence, chunk.sequence());
    EXPECT_EQ(replies[0].dtype, DType::i16);
    EXPECT_EQ(replies[0].shape, chunk.shape());
    EXPECT_EQ(replies[0].attributes.entries(), attributes->entries());
    EXPECT_EQ(text_of(replies[0].payload.bytes()), text_of(chunk.bytes()));
  }
}

TEST(CommandProtocol, EveryShapeAndTypeReturns) {
  for (const DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64,
                            DType::i64, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{1, 2, 3}, Shape{2, 1, 3, 2}, Shape{0, 7}}) {
      const Chunk chunk(heap_lender().lend(shape.elements() * size_of(dtype)), dtype, shape);
      const auto replies = replies_in(frame_of(chunk), {dtype, "bytes", 1000}, 1000);
      ASSERT_EQ(replies.size(), 1U);
      EXPECT_EQ(replies[0].dtype, dtype);
      EXPECT_EQ(replies[0].shape, shape);
    }
  }
}

TEST(CommandProtocol, PayloadLiesAtAMultipleOfEightBytes) {
  for (std::size_t length = 0; length < 20; ++length) {
    const auto attributes = std::make_shared<const Attributes>(Attributes{{"id", std::string(length, 'x')}});
    EXPECT_EQ(chunk_opening(chunk_of(std::vector<std::int16_t>{1}, attributes)).size() % 8, 0U);
  }
}

TEST(CommandProtocol, ManyFramesFollowEachOther) {
  const std::string stream = hello_frame({"s", {DType::i16, "signal", 8}, {DType::i16, "signal", 8}, 1, "o"}) +
                             none_frame(3) + frame_of(chunk_of(std::vector<std::int16_t>{9})) + end_frame();
  for (const std::size_t piece : {1UL, 5UL, 1000UL}) {
    const auto replies = replies_in(stream, {DType::i16, "signal", 8}, piece);
    ASSERT_EQ(replies.size(), 4U);
    EXPECT_EQ(replies[0].kind, FrameKind::hello);
    EXPECT_EQ(replies[1].kind, FrameKind::none);
    EXPECT_EQ(replies[1].sequence, 3U);
    EXPECT_EQ(replies[2].kind, FrameKind::chunk);
    EXPECT_EQ(replies[3].kind, FrameKind::end);
  }
}

TEST(CommandProtocol, AttributesThatJsonCannotHoldAreNotSent) {
  const auto attributes = std::make_shared<const Attributes>(
      Attributes{{"good", "a"}, {"bad", "\xff\xfe"}, {"nan", std::numeric_limits<double>::quiet_NaN()}});
  const auto replies =
      replies_in(frame_of(chunk_of(std::vector<std::int16_t>{1}, attributes)), {DType::i16, "signal", 8}, 100);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].attributes.entries().size(), 1U);
  EXPECT_EQ(replies[0].attributes.text("good"), "a");
}

TEST(CommandProtocol, BadFramesAreRefusedWithTheReason) {
  EXPECT_THAT(message_for("Traceback (most recent call last)"), HasSubstr("'Traceback (most '"));
  EXPECT_THAT(message_for(damaged(4, 9)), HasSubstr("unknown kind 9"));
  EXPECT_THAT(message_for(damaged(4, 4)), HasSubstr("which cannot be"));
  EXPECT_THAT(message_for(damaged(8, 5)), HasSubstr("which cannot be"));
  EXPECT_THAT(message_for(damaged(24, 10)), HasSubstr("unknown dtype 10"));
  EXPECT_THAT(message_for(damaged(24, 2)), HasSubstr("is u16, not i16"));
  EXPECT_THAT(message_for(damaged(25, 5)), HasSubstr("5 dimensions"));
  EXPECT_THAT(message_for(damaged(25, 0)), HasSubstr("extent beyond"));
  EXPECT_THAT(message_for(damaged(26, 1)), HasSubstr("must be 0"));
  EXPECT_THAT(message_for(damaged(30, 1)), HasSubstr("claims attributes of 65536 bytes"));
  EXPECT_THAT(message_for(damaged(32, 5)), HasSubstr("8 bytes of data, not those of a i16 [5]"));
  EXPECT_THAT(message_for(damaged(39, '\x7f')), HasSubstr("8 bytes of data"));
  EXPECT_THAT(message_for(frame_of(chunk_of(std::vector<std::int16_t>(33)))), HasSubstr("66 bytes, more than the 64"));
}

TEST(CommandProtocol, AShapeOfMoreElementsThanANumberCanSayIsRefused) {
  std::string frame = damaged(25, 2);
  frame.replace(32, 16, std::string(16, '\xff'));
  EXPECT_THAT(message_for(frame), HasSubstr("more than 2^64"));
}

TEST(CommandProtocol, AttributesAreAFlatObjectOfTextsAndNumbers) {
  const Attributes good = parse_attributes(R"({"i": -3, "d": 2.0, "t": "x", "n": null})");
  EXPECT_EQ(good.integer("i"), -3);
  EXPECT_FALSE(good.integer("d"));
  EXPECT_EQ(good.number("d"), 2.0);
  EXPECT_EQ(good.text("t"), "x");
  EXPECT_EQ(good.find("n"), nullptr);
  EXPECT_TRUE(parse_attributes("").entries().empty());
  for (const char* const bad :
       {"[]", "7", "{", R"({"a": true})", R"({"a": [1]})", R"({"a": {}})", R"({"a": 18446744073709551615})", "    "}) {
    EXPECT_TRUE(error_of([&] { parse_attributes(bad); })) << bad;
  }
  std::string many = "{";
  for (int i = 0; i < 300; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  EXPECT_THAT(error_of([&] { parse_attributes(many + "}"); })->message(), HasSubstr("300 attributes"));
}

TEST(CommandProtocol, HelloMustBeOfThisVersion) {
  EXPECT_NO_THROW(check_hello(R"({"version": 1, "more": []})"));
  EXPECT_THAT(error_of([] { check_hello(R"({"version": 2})"); })->message(), HasSubstr("version 2"));
  EXPECT_THAT(error_of([] { check_hello("{}"); })->message(), HasSubstr("no 'version'"));
  EXPECT_THAT(error_of([] { check_hello("hello"); })->message(), HasSubstr("no JSON"));
}

}  // namespace
}  // namespace millrace::command
