#include "stages/decode_signal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "io/vbz.h"
#include "stages/fast5_reader.h"
#include "tests/support/places.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::chunk_of;
using test::error_of;
using test::options_of;
using test::TempDirectory;

using Samples = std::vector<std::int16_t>;

std::filesystem::path sample(const std::string& name) { return test::source_dir() / "tests" / "io" / "fast5" / name; }

std::shared_ptr<const Attributes> attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries) {
  return std::make_shared<const Attributes>(entries);
}

ChunkType encoded_type(std::uint64_t decoded_max_bytes = 1 << 16) {
  return {DType::u8, "signal.encoded", 1 << 16, decoded_max_bytes};
}

/// A chunk of plain little-endian samples, told to be `entries`.
Chunk plain_chunk(const Samples& samples, std::initializer_list<std::pair<std::string, AttributeValue>> entries) {
  const auto bytes = std::as_bytes(std::span(samples));
  return chunk_of(std::vector<std::byte>(bytes.begin(), bytes.end()), attributes(entries));
}

TEST(DecodeSignal, SaysHowLargeItsChunksBecome) {
  DecodeSignal decode(options_of({}));
  const ChunkType type = decode.prepare({DType::u8, "signal.encoded", 100, 5000});
  EXPECT_EQ(type.dtype, DType::i16);
  EXPECT_EQ(type.content, "signal");
  EXPECT_EQ(type.max_bytes, 5000U);
  EXPECT_EQ(type.decoded_max_bytes, 0U);
  EXPECT_GE(decode.state_bytes(), 2500U * 4);
}

TEST(DecodeSignal, LeavesOutAndCountsDamagedReadsWhenItIsToldSo) {
  DecodeSignal decode(options_of({{"on_bad_read", "skip"}}));
  decode.prepare(encoded_type());
  std::vector<Chunk> chunks;
  for (int i = 0; i < 12; ++i) {
    chunks.push_back(plain_chunk({1, 2}, {{"read_id", "bad"}, {"samples", std::int64_t{3}}, {"coding", "none"}}));
  }
  chunks.push_back(plain_chunk({1, 2}, {{"read_id", "good"}, {"samples", std::int64_t{2}}, {"coding", "none"}}));
  const auto decoded = test::drive(decode, std::move(chunks));
  ASSERT_EQ(decoded.size(), 1U);
  EXPECT_EQ(test::values_of<std::int16_t>(decoded[0]), (Samples{1, 2}));
  const Findings findings = decode.findings();
  ASSERT_EQ(findings.refused.size(), 1U);
  EXPECT_EQ(findings.refused[0].reason, "damaged read");
  EXPECT_EQ(findings.refused[0].chunks, 12U);
  ASSERT_EQ(findings.lines.size(), 11U);
  EXPECT_EQ(findings.lines[0].substr(0, 19), "skipped: read bad: ");
  EXPECT_EQ(findings.lines[10], "and 2 more");
  EXPECT_THROW(DecodeSignal(options_of({{"on_bad_read", "ignore"}})), Error);
}

TEST(DecodeSignal, RefusesOtherInput) {
  DecodeSignal decode(options_of({}));
  EXPECT_THROW(decode.prepare({DType::i16, "signal.encoded", 100, 100}), Error);
  EXPECT_THROW(decode.prepare({DType::u8, "bytes", 100, 0}), Error);
  EXPECT_THROW(decode.prepare({DType::u8, "signal.encoded", 100, 0}), Error);
}

TEST(DecodeSignal, DecodesEveryLayoutOfTheSampleFiles) {
  for (const char* const name : {"layouts.fast5", "userblock.fast5", "latest.fast5", "single.fast5"}) {
    Fast5Reader reader(options_of({{"path", sample(name).string()}}));
    DecodeSignal decode(options_of({}));
    const ChunkType type = decode.prepare(reader.prepare());
    for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) {
      const auto seed = *chunk->attributes().integer("read_number");
      const auto decoded = decode.process(std::move(*chunk));
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->dtype(), type.dtype);
      EXPECT_LE(decoded->size_bytes(), type.max_bytes);
      EXPECT_EQ(decoded->elements(), static_cast<std::uint64_t>(*decoded->attributes().integer("samples")));
      const auto samples = decoded->view<std::int16_t>();
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto expected = (37 * static_cast<std::int64_t>(i) + 101 * seed) % 1021 - 200;
        ASSERT_EQ(samples[i], expected) << name << " read " << seed << " sample " << i;
      }
    }
  }
}

TEST(DecodeSignal, KeepsOriginAttributesAndSequence) {
  DecodeSignal decode(options_of({}));
  decode.prepare(encoded_type());
  Chunk chunk = plain_chunk({1, 2, 3}, {{"read_id", "r"}, {"coding", "none"}, {"samples", std::int64_t{3}}});
  chunk.set_sequence(17);
  chunk.set_origin({std::make_shared<const std::filesystem::path>("/file"), 5, 6});
  const auto before = chunk.shared_attributes();
  const auto decoded = decode.process(std::move(chunk));
  EXPECT_EQ(test::values_of<std::int16_t>(*decoded), (Samples{1, 2, 3}));
  EXPECT_EQ(decoded->sequence(), 17U);
  EXPECT_EQ(decoded->origin().offset, 5U);
  EXPECT_EQ(decoded->shared_attributes(), before);
}

TEST(DecodeSignal, ChangesOfCodingFromReadToReadAreFollowed) {
  DecodeSignal decode(options_of({}));
  decode.prepare(encoded_type());
  const Samples samples{7, -7, 700, -700};
  io::VbzEncoder encoder;
  const auto vbz = encoder.encode(samples);
  for (int round = 0; round < 3; ++round) {
    const auto plain = decode.process(plain_chunk(samples, {{"coding", "none"}, {"samples", std::int64_t{4}}}));
    EXPECT_EQ(test::values_of<std::int16_t>(*plain), samples);
    const auto packed =
        decode.process(chunk_of(vbz, attributes({{"coding", "vbz:1,2,1,1"}, {"samples", std::int64_t{4}}})));
    EXPECT_EQ(test::values_of<std::int16_t>(*packed), samples);
  }
}

TEST(DecodeSignal, NamesReadFileAndOffsetOfDamage) {
  DecodeSignal decode(options_of({}));
  decode.prepare(encoded_type());
  Chunk chunk = plain_chunk({1, 2, 3}, {{"read_id", "the-read"}, {"coding", "none"}, {"samples", std::int64_t{4}}});
  chunk.set_origin({std::make_shared<const std::filesystem::path>("/data/file.fast5"), 512, 6});
  const auto error = error_of([&] { decode.process(std::move(chunk)); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("the-read"), std::string::npos);
  EXPECT_EQ(error->path(), "/data/file.fast5");
  EXPECT_EQ(error->offset(), 512U);
}

TEST(DecodeSignal, RefusesAttributesThatDoNotFitTheBytes) {
  DecodeSignal decode(options_of({}));
  decode.prepare(encoded_type(1000));
  using Entries = std::vector<std::pair<std::string, AttributeValue>>;
  const auto integer = [](std::int64_t value) { return AttributeValue(value); };
  const std::vector<Entries> cases{
      {{"samples", integer(4)}},
      {{"coding", "none"}},
      {{"coding", "unheard of"}, {"samples", integer(4)}},
      {{"coding", "none"}, {"samples", integer(-1)}},
      {{"coding", "none"}, {"samples", integer(501)}},
      {{"coding", "none"}, {"samples", integer(3)}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(2)}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(0)}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(-2)}},
      {{"coding", "none"}, {"samples", integer(5)}, {"piece_samples", integer(9)}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(2)}, {"pieces", "0:4:0"}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(2)}, {"pieces", "0:4:0 4:4:0 0:4:0"}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(2)}, {"pieces", "0:4:0 5:4:0"}},
      {{"coding", "none"},
       {"samples", integer(4)},
       {"piece_samples", integer(2)},
       {"pieces", "0:4:0 18446744073709551615:4:0"}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(2)}, {"pieces", "0:4:0,4:4:0"}},
      {{"coding", "none"}, {"samples", integer(4)}, {"piece_samples", integer(2)}, {"pieces", "zero"}},
  };
  for (const auto& entries : cases) {
    Attributes built;
    for (const auto& [name, value] : entries) built.set(name, value);
    Chunk chunk = plain_chunk({1, 2, 3, 4}, {});
    chunk.set_attributes(std::make_shared<const Attributes>(built));
    EXPECT_THROW(decode.process(std::move(chunk)), Error) << testing::PrintToString(entries.size());
  }
}

TEST(DecodeSignal, TheLastPieceMayHoldOnlyWhatTheReadNeeds) {
  DecodeSignal decode(options_of({}));
  decode.prepare(encoded_type(1000));
  const auto decoded = decode.process(plain_chunk(
      {1, 2, 3, 4}, {{"coding", "none"}, {"samples", std::int64_t{3}}, {"piece_samples", std::int64_t{100'000}}}));
  EXPECT_EQ(test::values_of<std::int16_t>(*decoded), (Samples{1, 2, 3}));
}

TEST(DecodeSignal, AReadWithoutSamplesIsAnEmptyChunk) {
  DecodeSignal decode(options_of({}));
  decode.prepare(encoded_type());
  const auto decoded = decode.process(plain_chunk({}, {{"coding", "vbz:1,2,1,1"}, {"samples", std::int64_t{0}}}));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->elements(), 0U);
}

/// Every byte of the signal of a file damaged in turn: an Error or other samples, never a crash; and exactly as many
/// samples as announced.
TEST(DecodeSignal, SurvivesDamagedSignal) {
  const TempDirectory directory;
  const std::string whole = test::contents_of(sample("layouts.fast5"));
  std::mt19937_64 random(9);
  int refused = 0;
  const auto path = directory.write("damaged.fast5", whole);
  Fast5Reader reader(options_of({{"path", path.string()}}));
  DecodeSignal decode(options_of({}));
  decode.prepare(reader.prepare());
  for (int round = 0; round < 300; ++round) {
    const auto chunk = reader.produce(static_cast<std::uint64_t>(round) % 9);
    if (chunk->size_bytes() == 0) continue;
    auto bytes = test::values_of<std::uint8_t>(*chunk);
    for (auto places = 1 + random() % 3; places > 0; --places) {
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    }
    try {
      const auto decoded = decode.process(chunk_of(bytes, chunk->shared_attributes()));
      EXPECT_EQ(decoded->elements(), static_cast<std::uint64_t>(*chunk->attributes().integer("samples")));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace millrace
