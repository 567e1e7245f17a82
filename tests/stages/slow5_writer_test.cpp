#include "stages/slow5_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "io/run_info.h"
#include "io/slow5_format.h"
#include "stages/decode_signal.h"
#include "stages/fast5_reader.h"
#include "stages/slow5_reader.h"
#include "tests/support/places.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;
using testing::HasSubstr;

const ChunkType kSignal{DType::i16, "signal", 1 << 16};

/// Reads of two runs in turn, as a reader of reads gives them.
std::vector<Chunk> reads_of_two_runs() {
  std::vector<Chunk> chunks;
  for (auto& read : test::slow5_reads()) {
    Attributes attributes = read.attributes;
    attributes.set("samples", static_cast<std::int64_t>(read.samples.size()));
    attributes.set("read_group", read.group);
    const io::RunInfo info{{"run_id", read.group == 0 ? "run-a" : "run-b"},
                           {"flow_cell_id", "FAW" + std::to_string(read.group)},
                           {read.group == 0 ? "only_a" : "only_b", "1"}};
    attributes.set("run_id", info.at("run_id"));
    attributes.set("run_info", io::text_of(info));
    chunks.push_back(test::chunk_of(read.samples, std::make_shared<const Attributes>(std::move(attributes))));
  }
  return chunks;
}

std::vector<Chunk> reads_of_one_run() {
  auto chunks = reads_of_two_runs();
  std::erase_if(chunks, [](const Chunk& chunk) { return chunk.attributes().text("run_id") != "run-a"; });
  return chunks;
}

template <typename Reader>
std::vector<Chunk> decoded(const std::filesystem::path& path) {
  Reader reader(options_of({{"path", path.string()}}));
  DecodeSignal decode(options_of({}));
  decode.prepare(reader.prepare());
  std::vector<Chunk> chunks;
  for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) chunks.push_back(std::move(*chunk));
  return test::drive(decode, std::move(chunks));
}

void expect_same(const std::vector<Chunk>& written, const std::vector<Chunk>& read,
                 const std::vector<std::string>& but_for = {}) {
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(test::values_of<std::int16_t>(read[i]), test::values_of<std::int16_t>(written[i])) << i;
    for (const auto& [name, value] : written[i].attributes().entries()) {
      if (std::find(but_for.begin(), but_for.end(), name) != but_for.end()) continue;
      const auto* const again = read[i].attributes().find(name);
      ASSERT_NE(again, nullptr) << name;
      EXPECT_EQ(*again, value) << name;
    }
  }
}

class Slow5WriterCodings : public testing::TestWithParam<io::Slow5Coding> {
 protected:
  Options options(const std::filesystem::path& path, std::int64_t groups = 1) const {
    if (GetParam().text) return options_of({{"path", path.string()}, {"read_groups", groups}});
    const std::string text = io::text_of(GetParam()).substr(6);
    const auto comma = text.find(',');
    return options_of({{"path", path.string()},
                       {"compression", text.substr(0, comma)},
                       {"signal", text.substr(comma + 1)},
                       {"read_groups", groups}});
  }
  std::filesystem::path target() const { return directory_ / (GetParam().text ? "out.slow5" : "out.blow5"); }

  TempDirectory directory_;
};

TEST_P(Slow5WriterCodings, WhatIsWrittenIsReadBack) {
  Slow5Writer writer(options(target()));
  writer.prepare(kSignal);
  test::drive(writer, reads_of_one_run());
  EXPECT_EQ(writer.outputs().at(0).path, target());
  const auto index = io::index_slow5(target());
  EXPECT_EQ(index.coding, GetParam());
  EXPECT_EQ(index.header.groups, 1U);
  EXPECT_EQ(index.header.version, (std::array<std::uint8_t, 3>{1, 0, 0}));
  EXPECT_EQ(index.header.value("flow_cell_id", 0), "FAW0");
  expect_same(reads_of_one_run(), decoded<Slow5Reader>(target()));
}

TEST_P(Slow5WriterCodings, ReadsOfSeveralRunsKeepTheirRuns) {
  Slow5Writer writer(options(target(), 5));
  writer.prepare(kSignal);
  test::drive(writer, reads_of_two_runs());
  const auto index = io::index_slow5(target());
  EXPECT_EQ(index.header.groups, 2U) << "as many as came";
  EXPECT_EQ(index.header.value("only_b", 0), "");
  EXPECT_EQ(index.header.value("only_b", 1), "1");
  const auto again = decoded<Slow5Reader>(target());
  expect_same(reads_of_two_runs(), again, {"run_info"});
  EXPECT_EQ(io::parse_run_info(*again[1].attributes().text("run_info")).at("flow_cell_id"), "FAW1");
}

TEST_P(Slow5WriterCodings, WritesAFileWithoutReads) {
  Slow5Writer writer(options(target()));
  writer.prepare(kSignal);
  test::drive(writer, std::vector<Chunk>{});
  EXPECT_TRUE(io::index_slow5(target()).records.empty());
}

INSTANTIATE_TEST_SUITE_P(Slow5, Slow5WriterCodings, testing::ValuesIn(test::slow5_codings()),
                         [](const auto& name) { return test::test_name_of(name.param); });

TEST(Slow5Writer, KeepsWhatFast5Says) {
  const TempDirectory directory;
  std::size_t compared = 0;
  for (const char* const name : {"layouts.fast5", "single.fast5", "varieties.fast5"}) {
    const auto reads = decoded<Fast5Reader>(test::source_dir() / "tests" / "io" / "fast5" / name);
    auto kept = reads;
    std::erase_if(kept, [](const Chunk& chunk) {
      const Attributes& attributes = chunk.attributes();
      return !attributes.number("digitisation") || !attributes.number("sampling_rate") || !attributes.number("offset");
    });
    if (kept.empty()) continue;
    compared += kept.size();
    Slow5Writer writer(options_of({{"path", (directory / "out.blow5").string()}, {"read_groups", std::int64_t{20}}}));
    writer.prepare(kSignal);
    test::drive(writer, kept);
    expect_same(kept, decoded<Slow5Reader>(directory / "out.blow5"), {"coding", "pieces", "piece_samples", "duration"});
  }
  EXPECT_EQ(compared, 9U + 3U);
}

TEST(Slow5Writer, RefusesAReadOfARunThatFindsNoRoom) {
  const TempDirectory directory;
  Slow5Writer writer(options_of({{"path", (directory / "out.blow5").string()}}));
  writer.prepare(kSignal);
  auto chunks = reads_of_two_runs();
  writer.consume(std::move(chunks[0]));
  EXPECT_THAT(error_of([&] { writer.consume(std::move(chunks[1])); })->what(),
              HasSubstr("run 'run-b' comes after reads of 1 other: 'read_groups'"));
  writer.abandon();
  EXPECT_TRUE(directory.names().empty());
}

TEST(Slow5Writer, SaysWhatTheFileHasNoFieldFor) {
  const TempDirectory directory;
  Slow5Writer writer(options_of({{"path", (directory / "out.blow5").string()}}));
  writer.prepare(kSignal);
  auto chunks = reads_of_one_run();
  Attributes more = chunks[1].attributes();
  more.set("new", std::int64_t{1});
  chunks[1].set_attributes(std::make_shared<const Attributes>(std::move(more)));
  test::drive(writer, std::move(chunks));
  ASSERT_EQ(writer.findings().lines.size(), 1U);
  EXPECT_THAT(writer.findings().lines[0], HasSubstr("attribute 'new' of 1 reads is not in the file"));
}

TEST(Slow5Writer, NamesTheReadThatItCannotWrite) {
  const TempDirectory directory;
  Slow5Writer writer(options_of({{"path", (directory / "out.blow5").string()}}));
  writer.prepare(kSignal);
  auto chunks = reads_of_one_run();
  Attributes wrong = chunks[0].attributes();
  wrong.set("start_mux", std::int64_t{300});
  chunks[0].set_attributes(std::make_shared<const Attributes>(std::move(wrong)));
  EXPECT_THAT(error_of([&] { writer.consume(std::move(chunks[0])); })->what(),
              HasSubstr("read read-1-0: attribute 'start_mux' = 300 does not fit"));
}

TEST(Slow5Writer, WritesTheVersionThatIsAskedFor) {
  const TempDirectory directory;
  const auto path = directory / "a.blow5";
  const auto reads = reads_of_one_run();
  for (const std::string version : {"1.0.0", "0.2.0"}) {
    Slow5Writer writer(options_of({{"path", path.string()}, {"version", version}}));
    writer.prepare(kSignal);
    test::drive(writer, reads);
    const std::string start = test::contents_of(path).substr(6, 3);
    EXPECT_EQ(start, version == "1.0.0" ? std::string("\1\0\0", 3) : std::string("\0\2\0", 3));
    expect_same(reads, decoded<Slow5Reader>(path));
  }
}

TEST(Slow5Writer, RefusesOptionsThatMakeNoSense) {
  const std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>> cases[] = {
      {{"path", "a.blow5"}, {"compression", "lzma"}},
      {{"path", "a.blow5"}, {"signal", "ex-zd"}},
      {{"path", "a.slow5"}, {"compression", "zstd"}},
      {{"path", "a.blow5"}, {"level", std::int64_t{23}}},
      {{"path", "a.blow5"}, {"compression", "zlib"}, {"level", std::int64_t{13}}},
      {{"path", "a.blow5"}, {"read_groups", std::int64_t{0}}},
      {{"path", "a.blow5"}, {"version", "1.1.0"}},
  };
  for (const auto& values : cases) {
    const auto error = error_of([&values] { Slow5Writer(options_of(values)); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::config);
  }
}

}  // namespace
}  // namespace millrace
