#include "io/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/open_file.h"
#include "io/page_cache.h"
#include "pipeline/core/call_context.h"
#include "pipeline/core/chunk.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;
using test::error_of;
using test::TempDirectory;
using test::text_of;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1ULL << 20;

/// Parts of this process that show `path`.
std::size_t maps_of(const std::filesystem::path& path) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.ends_with(path.string()) ? 1 : 0;
  return count;
}

std::string noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string result(bytes, '\0');
  std::generate(result.begin(), result.end(), [&random] { return static_cast<char>(random()); });
  return result;
}

ReadVia consumer_faults() {
  ReadVia via;
  via.consumer_faults = true;
  return via;
}

ReadVia advised(AdvicePolicy::Kind kind) {
  ReadVia via;
  via.advice.kind = kind;
  return via;
}

class MappedReaderTest : public testing::Test {
 protected:
  void SetUp() override { call_context().tally = {}; }
  void TearDown() override { call_context().tally = {}; }

  TempDirectory directory_;
};

TEST_F(MappedReaderTest, ShowsTheFileItselfAndCopiesNothing) {
  const auto path = directory_.write("a", "0123456789");
  MappedReader reader(path);
  test::RecyclingLender lender;
  const test::LendFrom lend(lender);
  const Buffer buffer = reader.read({2, 5});
  EXPECT_EQ(text_of(buffer), "23456");
  EXPECT_EQ(lender.blocks(), 0U);
  EXPECT_EQ(maps_of(path), 1U);
  EXPECT_EQ(reader.read({0, 10}).data(), buffer.data() - 2) << "both show the same page";
  EXPECT_EQ(reader.stats().bytes, 15U);
  EXPECT_EQ(reader.stats().transport_used, "mmap");
}

TEST_F(MappedReaderTest, WhoWantsToWriteGetsACopyThatIsCounted) {
  MappedReader reader(directory_.write("a", "0123456789"));
  Buffer buffer = reader.read({0, 10});
  EXPECT_FALSE(buffer.unique());
  EXPECT_THAT(error_of([&] { buffer.writable(); })->message(), HasSubstr("mapped file cannot be written"));
  EXPECT_THROW(buffer.resize(11), Error);
  Chunk chunk(std::move(buffer), DType::u8);
  chunk.samples<std::uint8_t>()[0] = 'x';
  EXPECT_EQ(call_context().tally.copied_bytes, 10U);
  EXPECT_EQ(text_of(chunk.buffer()), "x123456789");
  chunk.samples<std::uint8_t>()[1] = 'y';
  EXPECT_EQ(call_context().tally.copied_bytes, 10U) << "once";
  EXPECT_EQ(contents_of(directory_ / "a"), "0123456789");
}

TEST_F(MappedReaderTest, UnmapsWithTheLastBufferWhoeverHasIt) {
  const std::string contents = noise(3 * kMiB);
  const auto path = directory_.write("a", contents);
  auto reader = std::make_unique<MappedReader>(path);
  Buffer first = reader->read({0, kMiB});
  Buffer second = reader->read({kMiB, kMiB});
  const Buffer part = second.slice(5, 10);
  reader.reset();
  EXPECT_EQ(maps_of(path), 1U);
  std::filesystem::remove(path);
  std::thread([&] {
    EXPECT_EQ(text_of(first), contents.substr(0, kMiB));
    first.release();
    second.release();
  }).join();
  EXPECT_EQ(text_of(part), contents.substr(kMiB + 5, 10));
  EXPECT_EQ(maps_of(path.string() + " (deleted)"), 1U);
  Buffer last = part;
  const_cast<Buffer&>(part).release();
  last.release();
  EXPECT_EQ(maps_of(path.string() + " (deleted)"), 0U);
}

TEST_F(MappedReaderTest, OfALargeFileOnlyWindowsAreMapped) {
  const auto path = directory_.write("large", "");
  constexpr std::uint64_t kBytes = 5ULL << 30;
  std::filesystem::resize_file(path, kBytes);
  MappedReader reader(path);
  std::vector<Buffer> kept;
  for (std::uint64_t at = 0; at < kBytes; at += 512 * kMiB) kept.push_back(reader.read({at + 1, 1000}));
  EXPECT_EQ(maps_of(path), 10U);
  kept.clear();
  EXPECT_EQ(maps_of(path), 1U) << "the window of the last read";
  EXPECT_EQ(reader.read({0, 200 * kMiB}).size(), 200 * kMiB) << "more than a window";
}

TEST_F(MappedReaderTest, AnyExtentsWithAnyKindOfAdvice) {
  const std::string contents = noise(2 * kMiB + 123);
  const auto path = directory_.write("a", contents);
  for (const auto kind : {AdvicePolicy::Kind::none, AdvicePolicy::Kind::normal, AdvicePolicy::Kind::sequential,
                          AdvicePolicy::Kind::random, AdvicePolicy::Kind::populate}) {
    MappedReader reader(path, advised(kind));
    std::mt19937_64 random(1);
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t offset = random() % contents.size();
      const std::uint64_t length = random() % (contents.size() - offset + 1);
      EXPECT_EQ(text_of(reader.read({offset, length})), contents.substr(offset, length));
    }
    const IoStats stats = reader.stats();
    EXPECT_EQ(stats.advice.kind, name_of(kind));
    EXPECT_EQ(stats.advice.errors, 0U);
    EXPECT_EQ(stats.advice.calls > 0, kind != AdvicePolicy::Kind::none) << name_of(kind);
    EXPECT_EQ(stats.advice.calls == stats.calls, kind == AdvicePolicy::Kind::populate) << name_of(kind);
  }
}

TEST_F(MappedReaderTest, FetchesThePagesItselfUnlessTheConsumerShall) {
  const auto path = directory_.write("a", noise(4 * kMiB));
  const FileDescriptor file = open_input(path);
  ASSERT_EQ(::fdatasync(file.get()), 0);
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  if (resident_bytes(path) != 0U) GTEST_SKIP() << "this file system keeps files in memory";
  MappedReader lazy(path, consumer_faults());
  const Buffer later = lazy.read({0, 4 * kMiB});
  EXPECT_EQ(resident_bytes(path), 0U);
  MappedReader eager(path);
  const Buffer now = eager.read({0, 2 * kMiB});
  EXPECT_GE(resident_bytes(path).value(), 2 * kMiB);
  EXPECT_EQ(text_of(later), contents_of(path));
}

TEST_F(MappedReaderTest, LetsThePageCacheForgetWhatABufferShowed) {
  const auto path = directory_.write("a", noise(8 * kMiB));
  const FileDescriptor file = open_input(path);
  ASSERT_EQ(::fdatasync(file.get()), 0);
  ReadVia via;
  via.drop_behind = true;
  MappedReader reader(path, via);
  Buffer buffer = reader.read({0, 8 * kMiB});
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  EXPECT_EQ(resident_bytes(path), 8 * kMiB) << "pages that are mapped stay";
  buffer.release();
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  if (resident_bytes(path) == 8 * kMiB) GTEST_SKIP() << "this file system keeps files in memory";
  EXPECT_EQ(resident_bytes(path), 0U);
}

TEST_F(MappedReaderTest, AFileThatShrinksIsTruncatedWhereItEnds) {
  for (const bool lazy : {false, true}) {
    const std::string contents = noise(100'000);
    const auto path = directory_.write("a", contents);
    MappedReader reader(path, lazy ? consumer_faults() : ReadVia{});
    std::filesystem::resize_file(path, 50'001);
    for (const Extent extent : {Extent{49'000, 1'500}, Extent{40'000, 60'000}, Extent{60'000, 10}}) {
      const auto error = error_of([&] { reader.read(extent); });
      ASSERT_TRUE(error) << extent.offset;
      EXPECT_THAT(error->message(), HasSubstr("truncated: the file ends here, but had 100000 bytes"));
      EXPECT_EQ(error->offset(), std::max<std::uint64_t>(extent.offset, 50'001));
      EXPECT_EQ(error->path(), path);
    }
    EXPECT_EQ(text_of(reader.read({0, 50'001})), contents.substr(0, 50'001));
    EXPECT_EQ(call_context().tally.lost_page, nullptr);
  }
}

TEST_F(MappedReaderTest, WhatShrinksAfterTheReadIsNotedForTheThreadThatTouchesIt) {
  for (const bool lazy : {false, true}) {
    const auto path = directory_.write("a", noise(100'000));
    MappedReader reader(path, lazy ? consumer_faults() : ReadVia{});
    const Buffer buffer = reader.read({0, 100'000});
    std::filesystem::resize_file(path, 10'000);
    const LostPage* lost = nullptr;
    std::thread([&] {
      call_context().tally = {};
      EXPECT_EQ(text_of(buffer).substr(13'000), std::string(87'000, '\0'));
      lost = call_context().tally.lost_page;
    }).join();
    ASSERT_NE(lost, nullptr);
    EXPECT_STREQ(lost->path.data(), path.c_str());
    EXPECT_EQ(lost->offset, 12'288U);
    EXPECT_EQ(call_context().tally.lost_page, nullptr) << "this thread saw nothing";
  }
}

TEST_F(MappedReaderTest, LooksAgainAfterAPageWasLost) {
  const std::string contents = noise(100'000);
  const auto path = directory_.write("a", contents);
  MappedReader reader(path, consumer_faults());
  const Buffer buffer = reader.read({0, 100'000});
  std::filesystem::resize_file(path, 0);
  touch_pages(buffer.bytes());
  EXPECT_NE(call_context().tally.lost_page, nullptr);
  directory_.write("a", contents);
  EXPECT_EQ(text_of(reader.read({0, 100'000})), contents);
}

TEST_F(MappedReaderTest, UsesItsHeadersAgain) {
  MappedReader reader(directory_.write("a", noise(100'000)));
  const BufferBlock* const first = reader.read({0, 100}).block();
  for (int i = 0; i < 10; ++i) {
    const Buffer buffer = reader.read({static_cast<std::uint64_t>(i) * 1000, 100});
    EXPECT_EQ(buffer.block(), first);
    EXPECT_EQ(buffer.block()->id, BufferBlock::kNoId) << "nobody may register memory that goes away";
  }
}

TEST_F(MappedReaderTest, LeavesNoMapBehind) {
  const auto path = directory_.write("a", noise(100'000));
  for (int i = 0; i < 10; ++i) {
    MappedReader reader(path);
    reader.read({0, 100'000});
    EXPECT_THROW(reader.read({0, 100'001}), Error);
  }
  EXPECT_EQ(maps_of(path), 0U);
}

TEST_F(MappedReaderTest, ProbeSaysWhatIsWrong) {
  EXPECT_TRUE(MappedReader::probe(directory_.write("a", "abc")).works);
  EXPECT_TRUE(MappedReader::probe(directory_.write("empty", "")).works);
  EXPECT_THAT(MappedReader::probe(directory_ / "missing").reason, HasSubstr("no such file"));
  const Probe unmappable = MappedReader::probe("/proc/self/status");
  EXPECT_FALSE(unmappable.works);
  EXPECT_THAT(unmappable.reason, HasSubstr("cannot be mapped"));
}

TEST(MappedWriter, GrowsInStepsAndIsCutToItsLength) {
  const TempDirectory directory;
  const auto path = directory / "a";
  const std::string contents = noise(20 * kMiB + 77);
  MappedWriter writer(create_output(path), path);
  std::size_t at = 0;
  for (std::mt19937_64 random(1); at < contents.size();) {
    const std::size_t piece = std::min<std::size_t>(random() % (3 * kMiB), contents.size() - at);
    writer.write(at, bytes_of(contents.substr(at, piece)));
    at += piece;
  }
  EXPECT_GE(std::filesystem::file_size(path), contents.size());
  writer.flush();
  EXPECT_EQ(std::filesystem::file_size(path), contents.size());
  EXPECT_EQ(maps_of(path), 0U);
  writer.write(at, bytes_of("more"));
  writer.write(0, bytes_of("head"));
  writer.sync();
  EXPECT_EQ(contents_of(path), "head" + contents.substr(4) + "more");
  EXPECT_EQ(writer.stats().bytes, contents.size() + 8);
  EXPECT_EQ(writer.stats().fsync_calls, 1U);
  EXPECT_EQ(writer.stats().transport_used, "mmap");
}

TEST(MappedWriter, LeavesNoMapBehindWithoutAFlush) {
  const TempDirectory directory;
  const auto path = directory / "a";
  {
    MappedWriter writer(create_output(path), path);
    writer.write(0, bytes_of("abc"));
    EXPECT_EQ(maps_of(path), 1U);
  }
  EXPECT_EQ(maps_of(path), 0U);
}

TEST(MappedWriter, WhatIsLeftOutStaysAHole) {
  const TempDirectory directory;
  const auto path = directory / "a";
  MappedWriter writer(create_output(path), path);
  writer.write(1ULL << 40, bytes_of("x"));
  writer.sync();
  EXPECT_EQ(std::filesystem::file_size(path), (1ULL << 40) + 1);
}

TEST(MappedWriter, ADiskThatIsFullIsAnErrorAndItsLastBytesCanBeUsed) {
  const test::SmallDisk disk(kMiB);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto path = disk.directory() / "a";
  MappedWriter writer(create_output(path), path);
  const std::string contents = noise(900'000);
  writer.write(0, bytes_of(contents));
  writer.flush();
  EXPECT_EQ(contents_of(path), contents);
  const auto error = error_of([&] { writer.write(contents.size(), bytes_of(contents)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("No space left on device"));
  EXPECT_EQ(error->path(), path);
  EXPECT_STREQ(error_of([&] { writer.flush(); })->what(), error->what());
}

TEST(MappedWriter, AHoleThatADiskHasNoBlocksForIsAnErrorToo) {
  const test::SmallDisk disk(kMiB);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto path = disk.directory() / "a";
  MappedWriter writer(create_output(path), path);
  call_context().tally = {};
  writer.write(4 * kMiB, bytes_of(noise(900'000)));  // leaves a hole of 4 MiB in front
  const auto error = error_of([&] { writer.write(0, bytes_of(noise(900'000))); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("no space left on the device"));
  EXPECT_EQ(call_context().tally.lost_page, nullptr);
  EXPECT_THROW(writer.sync(), Error);
}

TEST(MappedWriter, DropsBehindWhatIsOnTheDevice) {
  const TempDirectory directory;
  const auto path = directory / "a";
  WriteVia via;
  via.drop_behind = true;
  MappedWriter writer(create_output(path), path, via);
  const std::string block(4 * kMiB, 'x');
  for (std::uint64_t i = 0; i < 20; ++i) writer.write(i * block.size(), bytes_of(block));
  EXPECT_GT(writer.stats().dropped_cache_bytes, 0U);
  writer.sync();
  EXPECT_EQ(writer.stats().dropped_cache_bytes, 80 * kMiB);
  if (resident_bytes(path) == 80 * kMiB) GTEST_SKIP() << "this file system keeps files in memory";
  EXPECT_EQ(resident_bytes(path), 0U);
}

TEST(MappedWriter, CopiesFromAMapThatEndedAndNotesIt) {
  const TempDirectory directory;
  const auto source = directory.write("source", noise(100'000));
  MappedReader reader(source, consumer_faults());
  const Buffer buffer = reader.read({0, 100'000});
  std::filesystem::resize_file(source, 0);
  MappedWriter writer(create_output(directory / "a"), directory / "a");
  call_context().tally = {};
  writer.write(0, buffer.bytes());
  ASSERT_NE(call_context().tally.lost_page, nullptr) << "the engine must hear of it";
  EXPECT_STREQ(call_context().tally.lost_page->path.data(), source.c_str());
  call_context().tally = {};
}

TEST(MappedWriter, ProbeSaysWhatIsWrong) {
  const TempDirectory directory;
  EXPECT_TRUE(MappedWriter::probe(directory.path()).works);
  EXPECT_TRUE(directory.names().empty());
  EXPECT_FALSE(MappedWriter::probe(directory / "missing").works);
}

}  // namespace
}  // namespace millrace::io
