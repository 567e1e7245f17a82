#include "stages/slow5_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "io/run_info.h"
#include "stages/decode_signal.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

const io::Slow5Coding kZstd{false, io::Slow5Packing::zstd, io::Slow5SignalCoding::svb_zd};
const io::Slow5Coding kZlib{false, io::Slow5Packing::zlib, io::Slow5SignalCoding::svb_zd};
const io::Slow5Coding kText{true, io::Slow5Packing::none, io::Slow5SignalCoding::none};

Options reading(const std::filesystem::path& path) { return options_of({{"path", path.string()}}); }

std::vector<Chunk> all_chunks(Slow5Reader& reader) {
  std::vector<Chunk> chunks;
  for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) chunks.push_back(std::move(*chunk));
  return chunks;
}

/// Ids and samples of all that a reader with these options gives.
std::vector<std::pair<std::string, std::vector<std::int16_t>>> decoded(const Options& options) {
  Slow5Reader reader(options);
  DecodeSignal decode(options_of({}));
  decode.prepare(reader.prepare());
  std::vector<std::pair<std::string, std::vector<std::int16_t>>> result;
  for (const auto& chunk : test::drive(decode, all_chunks(reader))) {
    result.emplace_back(*chunk.attributes().text("read_id"), test::values_of<std::int16_t>(chunk));
  }
  return result;
}

std::vector<std::string> ids_of(const Options& options) {
  std::vector<std::string> ids;
  for (const auto& [id, samples] : decoded(options)) ids.push_back(id);
  return ids;
}

class Slow5ReaderCodings : public testing::TestWithParam<io::Slow5Coding> {};

TEST_P(Slow5ReaderCodings, GivesOneChunkPerReadWhichDecodesToItsSamplesAndAttributes) {
  const TempDirectory directory;
  const auto reads = test::slow5_reads();
  const std::string contents = test::slow5_file(GetParam(), reads);
  const auto path = directory.write("reads.blow5", contents);
  Slow5Reader reader(reading(path));
  const ChunkType type = reader.prepare();
  EXPECT_EQ(type.dtype, DType::u8);
  EXPECT_EQ(type.content, "signal.encoded");
  auto chunks = all_chunks(reader);
  ASSERT_EQ(chunks.size(), reads.size());
  EXPECT_EQ(reader.total_chunks(), reads.size());
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    EXPECT_LE(chunk.size_bytes(), type.max_bytes);
    EXPECT_EQ(*chunk.origin().file, path);
    const auto* const text = reinterpret_cast<const char*>(chunk.bytes().data());
    EXPECT_EQ(contents.substr(chunk.origin().offset, chunk.origin().length), std::string(text, chunk.size_bytes()));
    bytes += chunk.size_bytes();
  }
  EXPECT_EQ(reader.total_bytes(), bytes);

  DecodeSignal decode(options_of({}));
  const ChunkType signal = decode.prepare(type);
  const auto outputs = test::drive(decode, std::move(chunks));
  for (std::size_t i = 0; i < reads.size(); ++i) {
    EXPECT_LE(outputs[i].size_bytes(), signal.max_bytes);
    EXPECT_EQ(test::values_of<std::int16_t>(outputs[i]), reads[i].samples);
    const Attributes& attributes = outputs[i].attributes();
    for (const auto& [name, value] : reads[i].attributes.entries()) EXPECT_EQ(*attributes.find(name), value) << name;
    EXPECT_EQ(attributes.text("run_id"), reads[i].group == 0 ? "run-a" : "run-b");
    const auto info = io::parse_run_info(attributes.text("run_info").value_or(""));
    EXPECT_EQ(info.contains("exp_start_time"), reads[i].group == 0);
    EXPECT_EQ(attributes.find("slow5_header"), nullptr) << "that is the file's";
  }
}

INSTANTIATE_TEST_SUITE_P(Slow5, Slow5ReaderCodings, testing::ValuesIn(test::slow5_codings()),
                         [](const auto& name) { return test::test_name_of(name.param); });

TEST(Slow5Reader, ReadsTheFilesOfADirectoryInOrderWhateverTheirCoding) {
  const TempDirectory directory;
  directory.write("run_10.blow5", test::slow5_file(kZstd, test::slow5_reads(10)));
  directory.write("run_9.slow5", test::slow5_file(kText, test::slow5_reads(9)));
  directory.write("run_11.blow5", test::slow5_file(kZlib, {}));
  directory.write("notes.txt", "not a read");
  const auto got = decoded(reading(directory.path()));
  ASSERT_EQ(got.size(), 14U);
  EXPECT_EQ(got[0].first, "read-9-0");
  EXPECT_EQ(got[6].second, test::slow5_reads(9)[6].samples);
  EXPECT_EQ(got[13].second, test::slow5_reads(10)[6].samples);
  Slow5Reader reader(reading(directory.path()));
  reader.prepare();
  EXPECT_THAT(reader.plan_notes().at(0), HasSubstr("14 reads in 3 files"));
  EXPECT_THAT(reader.plan_notes().at(0), HasSubstr("codings: blow5:zstd,svb-zd, slow5"));
  EXPECT_THAT(reader.plan_notes().at(1), HasSubstr("read through for the index"));
}

TEST(Slow5Reader, GivesTheReadsAskedFor) {
  const TempDirectory directory;
  directory.write("in/a.blow5", test::slow5_file(kZstd, test::slow5_reads(1)));
  directory.write("in/b.blow5", test::slow5_file(kZlib, test::slow5_reads(2)));
  const auto list = directory.write("ids.txt", "read-2-6\nread-1-3\nabsent\nread-1-0\n");
  const auto options = [&](std::int64_t most) {
    return options_of({{"path", (directory / "in").string()}, {"reads", list.string()}, {"max_reads", most}});
  };
  EXPECT_THAT(ids_of(options(0)), ElementsAre("read-1-0", "read-1-3", "read-2-6"));
  EXPECT_THAT(ids_of(options(2)), ElementsAre("read-1-0", "read-1-3"));
  Slow5Reader reader(options(0));
  reader.prepare();
  EXPECT_THAT(reader.findings().lines, ElementsAre(HasSubstr("1 of 4 ids in")));
  EXPECT_TRUE(reader.findings().refused.empty());
}

TEST(Slow5Reader, StopsAtMaxReads) {
  const TempDirectory directory;
  directory.write("a.blow5", test::slow5_file(kZstd, test::slow5_reads(1)));
  directory.write("b.blow5", test::slow5_file(kText, test::slow5_reads(2)));
  const auto options = [&](std::int64_t most) {
    return options_of({{"path", directory.path().string()}, {"max_reads", most}});
  };
  EXPECT_EQ(ids_of(options(3)).size(), 3U);
  EXPECT_EQ(ids_of(options(9)).size(), 9U);
  EXPECT_EQ(ids_of(options(99)).size(), 14U);
}

TEST(Slow5Reader, ABadFileAmongGoodOnesFailsOrIsLeftOutAndCounted) {
  const TempDirectory directory;
  const std::string good = test::slow5_file(kZlib, test::slow5_reads(1));
  directory.write("a.blow5", test::slow5_file(kZstd, test::slow5_reads(2)));
  const auto empty = directory.write("b.blow5", "");
  const auto cut = directory.write("c.blow5", good.substr(0, good.size() - 10));
  directory.write("d.slow5", test::slow5_file(kText, test::slow5_reads(3)));
  Slow5Reader strict(reading(directory.path()));
  EXPECT_EQ(error_of([&] { strict.prepare(); })->path(), empty);

  Slow5Reader reader(options_of({{"path", directory.path().string()}, {"on_bad_file", "skip"}}));
  Slow5Reader second(options_of({{"path", directory.path().string()}, {"on_bad_file", "skip"}}));
  reader.prepare();
  ASSERT_TRUE(second.prepare_like(reader));
  EXPECT_EQ(all_chunks(reader).size(), 14U);
  const Findings findings = reader.findings();
  ASSERT_EQ(findings.refused.size(), 1U);
  EXPECT_EQ(findings.refused[0].chunks, 1U + 7U) << "one for the empty file, seven reads of the other";
  ASSERT_EQ(findings.lines.size(), 2U);
  EXPECT_THAT(findings.lines[1], HasSubstr(cut.string() + ", offset "));
  EXPECT_TRUE(second.findings().refused.empty()) << "they would count twice";
}

TEST(Slow5Reader, AReadThatOccursTwiceFailsOrIsLeftOutAndCounted) {
  const TempDirectory directory;
  auto reads = test::slow5_reads();
  reads.push_back(reads[2]);
  const auto path = directory.write("a.blow5", test::slow5_file(kZlib, reads));
  Slow5Reader strict(reading(path));
  EXPECT_THAT(error_of([&] { strict.prepare(); })->what(), HasSubstr("read read-1-2 occurs twice"));
  Slow5Reader reader(options_of({{"path", path.string()}, {"on_bad_file", "skip"}}));
  reader.prepare();
  EXPECT_EQ(all_chunks(reader).size(), reads.size() - 1);
  ASSERT_EQ(reader.findings().refused.size(), 1U);
  EXPECT_EQ(reader.findings().refused[0].reason, "duplicate read id");
  EXPECT_EQ(reader.findings().refused[0].chunks, 1U);
}

TEST(Slow5Reader, FurtherSlotsShareTheIndex) {
  const TempDirectory directory;
  const auto path = directory.write("a.blow5", test::slow5_file(kZstd, test::slow5_reads()));
  Slow5Reader first(reading(path));
  Slow5Reader second(reading(path));
  Slow5Reader unprepared(reading(path));
  EXPECT_FALSE(second.prepare_like(unprepared));
  first.prepare();
  ASSERT_TRUE(second.prepare_like(first));
  for (std::uint64_t index = 0; index < 7; ++index) {
    EXPECT_EQ(test::values_of<std::uint8_t>(*first.produce(index)),
              test::values_of<std::uint8_t>(*second.produce(index)));
  }
  EXPECT_FALSE(second.produce(7));
  EXPECT_GT(first.state_bytes(), 0U) << "the first answers for the index";
  EXPECT_EQ(second.state_bytes(), 0U);
}

TEST(Slow5Reader, DamageInsideARecordNamesReadFileAndOffset) {
  const TempDirectory directory;
  const auto reads = test::slow5_reads();
  io::Slow5Coding plain{false, io::Slow5Packing::none, io::Slow5SignalCoding::svb_zd};
  std::string contents = test::slow5_file(plain, reads);
  const auto good = directory.write("good.blow5", contents);
  Slow5Reader reader(reading(good));
  reader.prepare();
  const io::Extent last{reader.produce(6)->origin().offset, reader.produce(6)->origin().length};
  contents[last.offset + 90] = static_cast<char>(contents[last.offset + 90] ^ 0x40);  // a key
  const auto path = directory.write("bad.blow5", contents);
  Slow5Reader damaged(reading(path));
  DecodeSignal decode(options_of({}));
  decode.prepare(damaged.prepare());
  const auto error = error_of([&] { decode.process(*damaged.produce(6)); });
  EXPECT_EQ(error->path(), path);
  EXPECT_EQ(error->offset(), last.offset);
  EXPECT_THAT(error->what(), HasSubstr("read read-1-6: the signal is damaged"));
}

}  // namespace
}  // namespace millrace
