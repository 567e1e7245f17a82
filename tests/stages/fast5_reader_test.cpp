#include "stages/fast5_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "io/hdf5_format.h"
#include "stages/decode_signal.h"
#include "tests/support/allocation_count.h"
#include "tests/support/places.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path sample(const std::string& name) { return test::source_dir() / "tests" / "io" / "fast5" / name; }

Options reading(const std::filesystem::path& path) { return options_of({{"path", path.string()}}); }

std::vector<Chunk> all_chunks(Fast5Reader& reader) {
  std::vector<Chunk> chunks;
  for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) chunks.push_back(std::move(*chunk));
  return chunks;
}

TEST(Fast5Reader, GivesOneChunkPerReadWithItsAttributesAndOrigin) {
  Fast5Reader reader(reading(sample("layouts.fast5")));
  const ChunkType type = reader.prepare();
  EXPECT_EQ(type.dtype, DType::u8);
  EXPECT_EQ(type.content, "signal.encoded");
  const std::string file = test::contents_of(sample("layouts.fast5"));
  const auto chunks = all_chunks(reader);
  ASSERT_EQ(chunks.size(), 9U);
  EXPECT_EQ(reader.total_chunks(), 9U);
  std::uint64_t bytes = 0;
  for (const auto& chunk : chunks) {
    EXPECT_TRUE(chunk.attributes().text("read_id"));
    EXPECT_LE(chunk.size_bytes(), type.max_bytes);
    EXPECT_LE(2 * *chunk.attributes().integer("samples"), static_cast<std::int64_t>(type.decoded_max_bytes));
    ASSERT_TRUE(chunk.origin().file);
    EXPECT_EQ(*chunk.origin().file, sample("layouts.fast5"));
    bytes += chunk.size_bytes();
    if (chunk.attributes().integer("read_number") == 2) continue;  // inside the metadata: no place of its own
    ASSERT_EQ(chunk.origin().length, chunk.size_bytes());
    const auto* const text = reinterpret_cast<const char*>(chunk.bytes().data());
    EXPECT_EQ(file.substr(chunk.origin().offset, chunk.origin().length), std::string(text, chunk.size_bytes()));
  }
  EXPECT_EQ(reader.total_bytes(), bytes);
}

TEST(Fast5Reader, ReadsTheFilesOfADirectoryInOrder) {
  const TempDirectory directory;
  const std::string multi = test::contents_of(sample("layouts.fast5"));
  const std::string single = test::contents_of(sample("single.fast5"));
  directory.write("run_10.fast5", multi);
  directory.write("run_9.fast5", single);
  directory.write("notes.txt", "not a read");
  Fast5Reader reader(reading(directory.path()));
  reader.prepare();
  EXPECT_EQ(reader.input_files(),
            (std::vector<std::filesystem::path>{directory / "run_9.fast5", directory / "run_10.fast5"}));
  const auto chunks = all_chunks(reader);
  ASSERT_EQ(chunks.size(), 10U);
  EXPECT_EQ(chunks[0].attributes().text("read_id"), "single-read");
}

TEST(Fast5Reader, SaysWhatItFoundAndWhatIsUnusual) {
  Fast5Reader reader(options_of(
      {{"path", std::vector<std::string>{sample("layouts.fast5").string(), sample("single.fast5").string()}}}));
  reader.prepare();
  const auto notes = reader.plan_notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].substr(0, 19), "10 reads in 2 files");
  EXPECT_NE(notes[0].find("codings: deflate, fletcher32, none, shuffle+deflate+fletcher32"), std::string::npos)
      << notes[0];
  EXPECT_NE(notes[1].find("inside the metadata"), std::string::npos) << notes[1];
}

TEST(Fast5Reader, FurtherSlotsShareTheIndex) {
  Fast5Reader first(reading(sample("layouts.fast5")));
  Fast5Reader second(reading(sample("layouts.fast5")));
  first.prepare();
  ASSERT_TRUE(second.prepare_like(first));
  for (std::uint64_t index = 0; index < 9; ++index) {
    const auto a = first.produce(index);
    const auto b = second.produce(index);
    EXPECT_EQ(a->attributes().entries(), b->attributes().entries());
    EXPECT_EQ(test::values_of<std::uint8_t>(*a), test::values_of<std::uint8_t>(*b));
  }
  EXPECT_FALSE(second.produce(9));
  EXPECT_GT(first.state_bytes(), 9 * sizeof(Chunk)) << "the first answers for the index";
  EXPECT_EQ(second.state_bytes(), 0U);
}

TEST(Fast5Reader, AnotherSourceOrAnUnpreparedOneIsNoModel) {
  const Fast5Reader unprepared(reading(sample("layouts.fast5")));
  Fast5Reader reader(reading(sample("layouts.fast5")));
  EXPECT_FALSE(reader.prepare_like(unprepared));
}

/// A read in two pieces with much else between them: h5py cannot be told to do that, two reads in turn do.
TEST(Fast5Reader, CopiesPiecesTogetherThatLieFarApart) {
  Fast5Reader reader(reading(sample("scattered.fast5")));
  DecodeSignal decode(options_of({}));
  decode.prepare(reader.prepare());
  ASSERT_EQ(reader.plan_notes().size(), 2U);
  EXPECT_NE(reader.plan_notes()[1].find("far apart"), std::string::npos);
  call_context().tally = {};
  const auto chunk = reader.produce(0);
  EXPECT_EQ(call_context().tally.copied_bytes, chunk->size_bytes());
  EXPECT_LT(chunk->size_bytes(), chunk->origin().length);
  const auto decoded = decode.process(*chunk);
  ASSERT_EQ(decoded->elements(), 400U);
  for (std::size_t i = 0; i < 400; ++i) {
    ASSERT_EQ(decoded->view<std::int16_t>()[i], static_cast<std::int16_t>((37 * i + 101) % 1021 - 200)) << i;
  }
}

/// The attributes are put together for every chunk, because an index of millions of reads is to fit into memory.
TEST(Fast5Reader, AllocatesNothingPerChunkButItsAttributesWhenWarm) {
  Fast5Reader reader(reading(sample("layouts.fast5")));
  DecodeSignal decode(options_of({}));
  decode.prepare(reader.prepare());
  test::RecyclingLender pool;
  const test::LendFrom lend(pool);
  const auto run = [&] {
    for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) decode.process(std::move(*chunk));
  };
  run();
  const auto before = test::allocations_of_this_thread();
  run();
  const auto per_chunk = (test::allocations_of_this_thread() - before) / 9;
  EXPECT_LE(per_chunk, 60U) << "a name and a text for each attribute, and the list";
}

TEST(Fast5Reader, ABadFileAmongGoodOnesNamesItself) {
  const TempDirectory directory;
  directory.write("a.fast5", test::contents_of(sample("single.fast5")));
  const auto bad = directory.write("b.fast5", "this is not HDF5");
  Fast5Reader reader(reading(directory.path()));
  const auto error = error_of([&] { reader.prepare(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), bad);
}

std::vector<std::string> ids_of(Fast5Reader& reader) {
  std::vector<std::string> ids;
  for (const auto& chunk : all_chunks(reader)) ids.emplace_back(*chunk.attributes().text("read_id"));
  return ids;
}

std::string made_id(int number) { return "00000000-0000-4000-8000-00000000000" + std::to_string(number); }

TEST(Fast5Reader, TellsTheRunOfEachRead) {
  Fast5Reader reader(reading(sample("varieties.fast5")));
  reader.prepare();
  const auto chunks = all_chunks(reader);
  ASSERT_EQ(chunks.size(), 5U);
  for (const auto& chunk : chunks) {
    const char number = chunk.attributes().text("read_id")->back();
    const auto run_id = chunk.attributes().text("run_id").value_or("none");
    EXPECT_EQ(run_id, number == '5' ? "none" : number == '4' ? "run-4" : "run-1");
    const auto run_info = chunk.attributes().text("run_info").value_or("");
    EXPECT_EQ(run_info.find("device_id\tMN1\n") != std::string_view::npos, number != '5');
  }
}

TEST(Fast5Reader, GivesOnlyTheReadsThatAreAskedFor) {
  const TempDirectory directory;
  const auto list = directory.write("ids.txt", made_id(4) + "\n" + made_id(2) + "\nnowhere\n");
  Fast5Reader some(options_of({{"path", sample("varieties.fast5").string()}, {"reads", list.string()}}));
  some.prepare();
  EXPECT_THAT(ids_of(some), ElementsAre(made_id(2), made_id(4)));
  EXPECT_THAT(some.plan_notes(), testing::Contains(HasSubstr("1 of 3 ids in")));
  Fast5Reader few(options_of({{"path", sample("varieties.fast5").string()}, {"max_reads", std::int64_t{3}}}));
  few.prepare();
  EXPECT_THAT(ids_of(few), ElementsAre(made_id(1), made_id(2), made_id(3)));
  EXPECT_TRUE(few.findings().refused.empty()) << "what was not asked for is no loss";
}

TEST(Fast5Reader, LeavesBadFilesOutAndCountsTheirReads) {
  const TempDirectory directory;
  directory.write("in/a.fast5", test::contents_of(sample("single.fast5")));
  directory.write("in/b.fast5", "");
  {
    io::Hdf5Writer writer(directory / "in/c.fast5");  // three reads without signal
    for (const char* const name : {"read_1", "read_2", "read_3"}) {
      writer.create_group(name);
      writer.create_group(std::string(name) + "/Raw");
    }
    writer.close();
  }
  directory.write("in/d.fast5", test::contents_of(sample("varieties.fast5")));
  Fast5Reader reader(options_of({{"path", (directory / "in").string()}, {"on_bad_file", "skip"}}));
  reader.prepare();
  EXPECT_EQ(ids_of(reader).size(), 6U);
  EXPECT_EQ(reader.input_files().size(), 2U);
  ASSERT_EQ(reader.findings().refused.size(), 1U);
  EXPECT_EQ(reader.findings().refused[0].chunks, 1U + 3U);
  EXPECT_THAT(reader.findings().lines, ElementsAre(HasSubstr("b.fast5, offset 0: is empty, not an HDF5 file"),
                                                   HasSubstr("c.fast5: there is no dataset 'read_1/Raw/Signal'")));
  Fast5Reader further(options_of({{"path", (directory / "in").string()}, {"on_bad_file", "skip"}}));
  ASSERT_TRUE(further.prepare_like(reader));
  EXPECT_TRUE(further.findings().refused.empty()) << "it would count twice";
}

TEST(Fast5Reader, AFileThatShrankAfterTheIndexIsAnErrorWithItsPlace) {
  const TempDirectory directory;
  const std::string whole = test::contents_of(sample("layouts.fast5"));
  const auto path = directory.write("shrinks.fast5", whole);
  Fast5Reader reader(reading(path));
  reader.prepare();
  std::filesystem::resize_file(path, 5000);
  const auto error = error_of([&] { all_chunks(reader); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), path);
  EXPECT_TRUE(error->offset());
}

TEST(Fast5Reader, AFileWithoutReadsGivesAnEmptyStream) {
  const TempDirectory directory;
  io::Hdf5Writer writer(directory / "none.fast5");
  writer.set_attribute("/", {"file_version", std::string("2.2")});
  writer.close();
  Fast5Reader reader(reading(directory / "none.fast5"));
  EXPECT_GT(reader.prepare().max_bytes, 0U);
  EXPECT_EQ(reader.total_chunks(), 0U);
  EXPECT_FALSE(reader.produce(0));
}

}  // namespace
}  // namespace millrace
