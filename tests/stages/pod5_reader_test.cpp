#include "stages/pod5_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stages/decode_signal.h"
#include "tests/support/pod5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::made_id;
using test::made_reads;
using test::MadeRead;
using test::options_of;
using test::pod5_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

Options reading(const std::filesystem::path& path) { return options_of({{"path", path.string()}}); }

std::vector<Chunk> all_chunks(Pod5Reader& reader) {
  std::vector<Chunk> chunks;
  for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) chunks.push_back(std::move(*chunk));
  return chunks;
}

std::vector<std::string> ids_of(Pod5Reader& reader) {
  std::vector<std::string> ids;
  for (const auto& chunk : all_chunks(reader)) ids.emplace_back(*chunk.attributes().text("read_id"));
  return ids;
}

/// Reads and decodes what `reader` (not prepared yet) gives, and holds it against `made`.
void expect_samples(Pod5Reader& reader, const std::vector<MadeRead>& made) {
  DecodeSignal decode(options_of({}));
  const ChunkType type = reader.prepare();
  const ChunkType decoded_type = decode.prepare(type);
  auto chunks = all_chunks(reader);
  ASSERT_EQ(chunks.size(), made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_LE(chunks[i].size_bytes(), type.max_bytes);
    const auto decoded = decode.process(std::move(chunks[i]));
    ASSERT_TRUE(decoded);
    EXPECT_LE(decoded->size_bytes(), decoded_type.max_bytes);
    EXPECT_EQ(test::values_of<std::int16_t>(*decoded), made[i].samples) << i;
    EXPECT_EQ(decoded->attributes().text("run_id"), made[i].attributes.text("run_id"));
    EXPECT_TRUE(decoded->attributes().text("run_info"));
  }
}

TEST(Pod5Reader, GivesOneChunkPerReadThatDecodeSignalUnderstands) {
  const TempDirectory directory;
  const auto made = made_reads({1000, 0, 1, 250'000, 8});
  for (const bool compress : {true, false}) {
    io::Pod5Writer::Settings settings;
    settings.compress = compress;
    settings.row_samples = 1000;
    settings.batch_rows = 7;
    Pod5Reader reader(reading(directory.write("a.pod5", pod5_of(made, settings))));
    expect_samples(reader, made);
  }
}

TEST(Pod5Reader, TheOriginIsWhereTheBytesAre) {
  const TempDirectory directory;
  const auto path = directory.write("a.pod5", pod5_of(made_reads({1000, 300})));
  Pod5Reader reader(reading(path));
  reader.prepare();
  const std::string file = test::contents_of(path);
  for (const auto& chunk : all_chunks(reader)) {
    EXPECT_EQ(*chunk.origin().file, path);
    ASSERT_EQ(chunk.origin().length, chunk.size_bytes());
    const std::string bytes(reinterpret_cast<const char*>(chunk.bytes().data()), chunk.size_bytes());
    EXPECT_EQ(file.substr(chunk.origin().offset, chunk.origin().length), bytes);
  }
}

TEST(Pod5Reader, ReadsTheFilesOfADirectoryInOrderAndOnlyWhatIsAskedFor) {
  const TempDirectory directory;
  const auto made = made_reads({10, 20, 30, 40, 50, 60});
  directory.write("in/run_10.pod5", pod5_of(std::span(made).subspan(3)));
  directory.write("in/run_9.pod5", pod5_of(std::span(made).first(3)));
  directory.write("in/notes.txt", "not a read");
  Pod5Reader all(reading(directory / "in"));
  all.prepare();
  EXPECT_THAT(ids_of(all), ElementsAre(made_id(1), made_id(2), made_id(3), made_id(4), made_id(5), made_id(6)));
  const auto list = directory.write("ids.txt", made_id(5) + "\n" + made_id(2) + "\n" + made_id(77) + "\n");
  Pod5Reader some(options_of({{"path", (directory / "in").string()}, {"reads", list.string()}}));
  some.prepare();
  EXPECT_THAT(ids_of(some), ElementsAre(made_id(2), made_id(5)));
  EXPECT_THAT(some.plan_notes(), testing::Contains(HasSubstr("1 of 3 ids in")));
  Pod5Reader few(options_of({{"path", (directory / "in").string()}, {"max_reads", std::int64_t{4}}}));
  few.prepare();
  EXPECT_THAT(ids_of(few), ElementsAre(made_id(1), made_id(2), made_id(3), made_id(4)));
  EXPECT_TRUE(few.findings().refused.empty()) << "what was not asked for is no loss";
}

TEST(Pod5Reader, ABadFileAmongGoodOnesFailsOrIsLeftOutAndCounted) {
  const TempDirectory directory;
  const auto made = made_reads({10, 20});
  directory.write("in/a.pod5", pod5_of(std::span(made).first(1)));
  const auto bad = directory.write("in/b.pod5", "");
  directory.write("in/c.pod5", pod5_of(std::span(made).subspan(1)));
  Pod5Reader strict(reading(directory / "in"));
  const auto error = error_of([&] { strict.prepare(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), bad);
  EXPECT_EQ(error->offset(), 0U);
  Pod5Reader lenient(options_of({{"path", (directory / "in").string()}, {"on_bad_file", "skip"}}));
  lenient.prepare();
  EXPECT_THAT(ids_of(lenient), ElementsAre(made_id(1), made_id(2)));
  ASSERT_EQ(lenient.findings().refused.size(), 1U);
  EXPECT_EQ(lenient.findings().refused[0].chunks, 1U);
  EXPECT_THAT(lenient.findings().lines, ElementsAre(HasSubstr("b.pod5, offset 0: is empty")));
  EXPECT_EQ(lenient.input_files().size(), 2U);
}

TEST(Pod5Reader, CountsTheReadsOfABadFileWhereItsTableOfReadsIsGood) {
  const TempDirectory directory;
  std::string file = pod5_of(made_reads({100, 200, 300}));
  const auto mark = file.find("ARROW1", 100);  // the end of the first table, which is that of the signal
  ASSERT_NE(mark, std::string::npos);
  file[mark] = 'x';
  directory.write("in/a.pod5", file);
  directory.write("in/b.pod5", pod5_of(made_reads({50})));
  Pod5Reader reader(options_of({{"path", (directory / "in").string()}, {"on_bad_file", "skip"}}));
  reader.prepare();
  EXPECT_EQ(reader.total_chunks(), 1U);
  ASSERT_EQ(reader.findings().refused.size(), 1U);
  EXPECT_EQ(reader.findings().refused[0].chunks, 3U);
}

TEST(Pod5Reader, FurtherSlotsShareTheIndexAndCountNothingTwice) {
  const TempDirectory directory;
  const auto path = directory.write("a.pod5", pod5_of(made_reads({100, 200, 300})));
  Pod5Reader first(reading(path));
  Pod5Reader second(reading(path));
  EXPECT_FALSE(second.prepare_like(first)) << "not prepared yet";
  first.prepare();
  ASSERT_TRUE(second.prepare_like(first));
  EXPECT_EQ(ids_of(first), ids_of(second));
  EXPECT_GT(first.state_bytes(), 0U);
  EXPECT_EQ(second.state_bytes(), 0U);
}

TEST(Pod5Reader, AFileThatShrankAfterTheIndexIsAnErrorWithItsPlace) {
  const TempDirectory directory;
  const auto path = directory.write("a.pod5", pod5_of(made_reads({10'000, 20'000})));
  Pod5Reader reader(reading(path));
  reader.prepare();
  std::filesystem::resize_file(path, 5000);
  const auto error = error_of([&] { all_chunks(reader); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), path);
  EXPECT_TRUE(error->offset());
}

TEST(Pod5Reader, AFileWithoutReadsGivesAnEmptyStream) {
  const TempDirectory directory;
  Pod5Reader reader(reading(directory.write("a.pod5", pod5_of({}))));
  EXPECT_GT(reader.prepare().max_bytes, 0U);
  EXPECT_EQ(reader.total_chunks(), 0U);
  EXPECT_FALSE(reader.produce(0));
}

}  // namespace
}  // namespace millrace
