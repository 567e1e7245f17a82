#include "stages/raw_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

using Value = decltype(OptionValue::value);

OptionValue::Table table_of(std::initializer_list<std::pair<const std::string, Value>> values) {
  return std::make_shared<const Options>(options_of(values));
}

/// A reader of `path` with blocks of `block`.
RawReader reader_of(const std::filesystem::path& path, const std::string& block, const std::string& dtype = "u8") {
  return RawReader(options_of({{"path", path.string()}, {"dtype", dtype}, {"via", table_of({{"block", block}})}}));
}

std::string text_of(const Chunk& chunk) {
  return {reinterpret_cast<const char*>(chunk.bytes().data()), chunk.size_bytes()};
}

TEST(RawReader, GivesTheBlocksOfEveryFileInOrder) {
  const TempDirectory directory;
  directory.write("r2", "abcdefg");
  directory.write("r10", "hi");
  directory.write("r1", "");
  RawReader reader = reader_of(directory.path(), "3 B");
  const ChunkType type = reader.prepare();
  EXPECT_EQ(type.dtype, DType::u8);
  EXPECT_EQ(type.content, "bytes");
  EXPECT_EQ(type.max_bytes, 3U);
  EXPECT_EQ(reader.total_chunks(), 4U);
  EXPECT_EQ(reader.total_bytes(), 9U);
  std::vector<std::string> seen;
  for (std::uint64_t i = 0; auto chunk = reader.produce(i); ++i) seen.push_back(text_of(*chunk));
  EXPECT_THAT(seen, ElementsAre("abc", "def", "g", "hi"));
  EXPECT_EQ(reader.io_stats()->bytes, 9U);
  EXPECT_EQ(reader.io_stats()->calls, 4U);
}

TEST(RawReader, SaysWhereAChunkComesFrom) {
  const TempDirectory directory;
  const auto path = directory.write("with space ä 名", "abcdefg");
  RawReader reader = reader_of(path, "4 B");
  reader.prepare();
  const auto chunk = reader.produce(1);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(*chunk->origin().file, path);
  EXPECT_EQ(chunk->origin().offset, 4U);
  EXPECT_EQ(chunk->origin().length, 3U);
}

TEST(RawReader, GivesElementsOfTheWantedType) {
  const TempDirectory directory;
  const std::vector<std::int16_t> samples{1, -2, 3};
  directory.write("a", {reinterpret_cast<const char*>(samples.data()), 6});
  RawReader reader(options_of({{"path", (directory / "a").string()}, {"dtype", "i16"}, {"content", "signal"}}));
  EXPECT_EQ(reader.prepare().text(), "i16 signal, up to 6 B");
  EXPECT_EQ(test::values_of<std::int16_t>(*reader.produce(0)), samples);
}

TEST(RawReader, ZeroAndOneByteFiles) {
  const TempDirectory directory;
  RawReader empty = reader_of(directory.write("empty", ""), "1 MiB");
  EXPECT_GT(empty.prepare().max_bytes, 0U);
  EXPECT_EQ(empty.total_chunks(), 0U);
  EXPECT_FALSE(empty.produce(0));
  RawReader one = reader_of(directory.write("one", "x"), "1 MiB");
  EXPECT_EQ(one.prepare().max_bytes, 1U);
  EXPECT_EQ(text_of(*one.produce(0)), "x");
  EXPECT_FALSE(one.produce(1));
}

TEST(RawReader, ASlotReadsWithTheIndexOfTheFirst) {
  const TempDirectory directory;
  const auto path = directory.write("a", "abcdef");
  RawReader first = reader_of(path, "2 B");
  RawReader second = reader_of(path, "2 B");
  EXPECT_FALSE(second.prepare_like(first));
  first.prepare();
  ASSERT_TRUE(second.prepare_like(first));
  EXPECT_EQ(text_of(*second.produce(1)), "cd");
  EXPECT_EQ(text_of(*first.produce(0)), "ab");
  EXPECT_EQ(second.input_files(), first.input_files());
}

TEST(RawReader, NotesWhatWillBeRead) {
  const TempDirectory directory;
  RawReader reader = reader_of(directory.write("a", std::string(2500, 'x')), "1 KiB");
  reader.prepare();
  EXPECT_THAT(reader.plan_notes(), ElementsAre("3 blocks of up to 1.00 KiB in 1 file, 2.44 KiB"));
}

TEST(RawReader, NotesAdviceThatCannotDoWhatItIsFor) {
  const TempDirectory directory;
  // No device starts a TiB with one call; in memory (tmpfs) all advice is for nothing.
  RawReader reader(options_of({{"path", directory.write("a", "x").string()},
                               {"via", table_of({{"advice", "willneed"}, {"window", "1 TiB"}, {"step", "1 TiB"}})}}));
  reader.prepare();
  EXPECT_THAT(reader.plan_notes(), testing::Contains(testing::StartsWith("via: ")));
}

TEST(RawReader, RefusesBadOptionsWithTheirPlace) {
  const auto dtype = error_of([] { RawReader(options_of({{"path", "a"}, {"dtype", "i12"}})); });
  EXPECT_THAT(dtype->message(), HasSubstr("there is no dtype 'i12'"));
  EXPECT_EQ(dtype->position().line, 7U);
  const auto block = error_of([] { reader_of("a", "7 B", "i32"); });
  EXPECT_THAT(block->message(), HasSubstr("'block' must be a whole number of i32 (4 bytes each)"));
  EXPECT_EQ(block->kind(), ErrorKind::config);
  EXPECT_EQ(block->position().line, 7U);
}

TEST(RawReader, RefusesInputThatIsNotThereOrDoesNotFit) {
  const TempDirectory directory;
  const auto odd = directory.write("odd", "12345");
  const std::vector<std::pair<std::filesystem::path, std::string>> cases{
      {directory / "missing", "there is no such file"},
      {directory / "*.raw", "no file matches"},
      {"/dev/null", "is a character device"},
      {odd, "5 bytes are not a whole number of i16"},
  };
  for (const auto& [path, reason] : cases) {
    RawReader reader = reader_of(path, "2 B", "i16");
    const auto error = error_of([&reader] { reader.prepare(); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr(reason));
    EXPECT_EQ(error->path(), path);
  }
}

TEST(RawReader, SaysWhereAFileBreaksDuringTheRun) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(100, 'x'));
  RawReader reader = reader_of(path, "10 B");
  reader.prepare();
  reader.produce(0);
  std::filesystem::resize_file(path, 35);
  EXPECT_NO_THROW(reader.produce(2));
  const auto error = error_of([&reader] { reader.produce(3); });
  EXPECT_THAT(error->message(), HasSubstr("truncated"));
  EXPECT_EQ(error->offset(), 35U);
  EXPECT_EQ(error->path(), path);
}

TEST(RawReader, FailsAtTheFirstTheMiddleAndTheLastBlockOnABadDevice) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(100, 'x'));
  for (const std::uint64_t bad : {0, 5, 9}) {
    RawReader reader(options_of(
        {{"path", path.string()},
         {"via", table_of({{"block", "10 B"}, {"inject", "eio"}, {"inject_at", std::to_string(bad * 10) + " B"}})}}));
    reader.prepare();
    for (std::uint64_t i = 0; i < bad; ++i) EXPECT_TRUE(reader.produce(i));
    EXPECT_EQ(error_of([&] { reader.produce(bad); })->message(), "cannot read: Input/output error");
  }
}

TEST(RawReader, ReadsASparseFileBeyondFourGiB) {
  const TempDirectory directory;
  const auto path = directory.write("large", "start");
  constexpr std::uint64_t kBytes = (5ULL << 30) + 3;
  std::filesystem::resize_file(path, kBytes);
  RawReader reader = reader_of(path, "1 MiB");
  reader.prepare();
  EXPECT_EQ(reader.total_chunks(), 5U * 1024 + 1);
  const auto last = reader.produce(5 * 1024);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->size_bytes(), 3U);
  EXPECT_EQ(last->origin().offset, 5ULL << 30);
  EXPECT_FALSE(reader.produce(5 * 1024 + 1));
}

}  // namespace
}  // namespace millrace
