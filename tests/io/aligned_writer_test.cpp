// What the writers over AlignedWriter share: every test runs with each of them.

#include "io/aligned_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>
#include <string>

#include "io/buffer_pool.h"
#include "io/direct_file.h"
#include "io/uring_writer.h"
#include "pipeline/core/call_context.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;

enum class Kind { direct, uring, uring_direct };

void PrintTo(Kind kind, std::ostream* out) {
  *out << (kind == Kind::direct ? "direct" : kind == Kind::uring ? "uring" : "uring_direct");
}

class AlignedWriterTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const Probe probe = GetParam() == Kind::direct ? probe_direct_write(directory_.path())
                                                   : probe_uring_write(directory_.path(), GetParam() != Kind::uring);
    if (!probe.works) GTEST_SKIP() << probe.reason;
    copied_before_ = call_context().tally.copied_bytes;
  }

  bool is_direct() const { return GetParam() != Kind::uring; }
  std::uint64_t copied() const { return call_context().tally.copied_bytes - copied_before_; }
  std::unique_ptr<Writer> create(const WriteVia& via = {}) const {
    if (GetParam() == Kind::direct) return std::make_unique<DirectWriter>(create_output(path_), path_, via);
    return std::make_unique<UringWriter>(create_output(path_), path_, via, is_direct());
  }

  test::TempDirectory directory_;
  std::filesystem::path path_ = directory_ / "a";
  std::uint64_t copied_before_ = 0;
};

std::string noise(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(bytes, '\0');
  std::generate(text.begin(), text.end(), [&random] { return static_cast<char>(random()); });
  return text;
}

Buffer buffer_with(const std::string& text, Lender& lender) {
  Buffer buffer = lender.lend(text.size());
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(buffer.writable().data()));
  return buffer;
}

/// The bytes where they lie in memory as they will in the file, as a direct reader leaves them.
Buffer placed_buffer_with(const std::string& text, std::uint64_t offset, Lender& lender) {
  const std::uint64_t lead = offset % 4096;
  Buffer buffer = buffer_with(std::string(lead, '?') + text, lender);
  buffer.narrow(lead, text.size());
  return buffer;
}

/// Any appends, overwrites and flushes give the file that a string gives.
TEST_P(AlignedWriterTest, FilesAreAsTheModelSays) {
  BufferPool pool(5 << 20, 6);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    std::string model;
    std::filesystem::remove(path_);
    WriteVia via;
    via.depth = 1 + static_cast<std::uint32_t>(random() % 4);
    if (seed % 3 == 0) via.preallocate_bytes = 100'000;
    const auto writer = create(via);
    for (int step = 0; step < 40; ++step) {
      // Sizes of all magnitudes; every third a whole number of blocks, so that direct and staged writes alternate.
      std::size_t bytes = random() % (1ULL << (random() % 23));
      if (random() % 3 == 0) bytes = round_up(bytes, 4096);
      const std::string piece = noise(bytes, random());
      std::uint64_t offset = model.size();
      if (random() % 5 == 0) offset = random() % (model.size() + 1);
      if (random() % 29 == 0) offset = model.size() + random() % 20'000;  // leaves a hole
      switch (random() % 3) {
        case 0:
          writer->submit(offset, buffer_with(piece, pool));
          break;
        case 1:
          writer->submit(offset, placed_buffer_with(piece, offset, pool));
          break;
        default:
          writer->write(offset, bytes_of(piece));
      }
      if (!piece.empty()) {
        if (model.size() < offset + piece.size()) model.resize(offset + piece.size());
        model.replace(offset, piece.size(), piece);
      }
      switch (random() % 8) {
        case 0:
          writer->flush();
          ASSERT_EQ(std::filesystem::file_size(path_), model.size()) << "seed " << seed << ", step " << step;
          break;
        case 1:
          writer->sync();
          ASSERT_TRUE(contents_of(path_) == model) << "seed " << seed << ", step " << step;
          break;
        default:
          break;
      }
    }
    writer->sync();
    ASSERT_TRUE(contents_of(path_) == model) << "seed " << seed;
  }
}

TEST_P(AlignedWriterTest, WholeBlocksOfAlignedMemoryAreNotCopied) {
  BufferPool pool(1 << 20, 8);
  const std::string piece = noise(1 << 20, 1);
  {
    const auto writer = create();
    for (std::uint64_t i = 0; i < 6; ++i) writer->submit(i << 20, buffer_with(piece, pool));
    writer->flush();
    EXPECT_EQ(writer->stats().bytes, 6U << 20);
    EXPECT_EQ(writer->stats().calls, 6U);
  }
  EXPECT_EQ(copied(), 0U);
  EXPECT_EQ(pool.allocations(), 8U);
  EXPECT_TRUE(contents_of(path_) == piece + piece + piece + piece + piece + piece);
}

TEST_P(AlignedWriterTest, OnlyTheEndOfAPieceIsCopied) {
  BufferPool pool(1 << 20, 2);
  const std::string piece = noise((1 << 20) - 1000, 1);
  const auto writer = create();
  writer->submit(0, buffer_with(piece, pool));
  writer->flush();
  EXPECT_EQ(copied(), is_direct() ? piece.size() % 4096 : 0U);
  EXPECT_TRUE(contents_of(path_) == piece);
}

TEST_P(AlignedWriterTest, PiecesWhoseMemoryLiesAsTheirPlaceInTheFileAreCopiedAtTheirEndsOnly) {
  // As a direct reader gives them: whole blocks in memory, of which the buffer shows an extent without alignment.
  const std::string contents = noise(2'000'000, 2);
  BufferPool pool(600'000, 4);
  const auto writer = create();
  for (std::uint64_t offset = 0; offset < contents.size(); offset += 500'000) {
    writer->submit(offset, placed_buffer_with(contents.substr(offset, 500'000), offset, pool));
  }
  writer->flush();
  EXPECT_LE(copied(), is_direct() ? 4U * 4096U : 0U);
  EXPECT_TRUE(contents_of(path_) == contents);
}

TEST_P(AlignedWriterTest, TheFileIsAsLongAsItsLastByteAfterEveryFlush) {
  const auto writer = create();
  std::string model;
  for (int i = 1; i < 30; ++i) {
    const std::string piece = noise(static_cast<std::size_t>(i) * 137, 3);
    writer->write(model.size(), bytes_of(piece));
    model += piece;
    writer->flush();
    ASSERT_TRUE(contents_of(path_) == model) << "after piece " << i;
  }
}

TEST_P(AlignedWriterTest, AHoleAndWhatIsAppendedBehindItAreRight) {
  const auto writer = create();
  writer->write(0, bytes_of("begin"));
  writer->write(10'000, bytes_of("far"));
  writer->write(10'003, bytes_of("ther"));
  writer->sync();
  EXPECT_EQ(contents_of(path_), "begin" + std::string(9995, '\0') + "farther");
}

TEST_P(AlignedWriterTest, AnOverwrittenTailIsNotWrittenAgainAsItWas) {
  const auto writer = create();
  writer->write(0, bytes_of(std::string(5000, 'a')));
  writer->write(4900, bytes_of("bbb"));
  writer->write(5000, bytes_of("ccc"));
  writer->flush();
  EXPECT_EQ(contents_of(path_), std::string(4900, 'a') + "bbb" + std::string(97, 'a') + "ccc");
}

TEST_P(AlignedWriterTest, RoomThatWasAskedForInVainIsGivenBack) {
  WriteVia via;
  via.preallocate_bytes = 8 << 20;
  const auto writer = create(via);
  writer->write(0, bytes_of(noise(200'000, 1)));
  if (writer->stats().detail.find("no preallocation") != std::string::npos) GTEST_SKIP() << writer->stats().detail;
  writer->sync();
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 200'000);
  EXPECT_LT(status.st_blocks * 512, 4 << 20);
}

TEST_P(AlignedWriterTest, SaysWhatWentThroughThePageCache) {
  const auto writer = create();
  writer->write(0, bytes_of(noise(100'000, 1)));
  writer->write(50, bytes_of("x"));
  const auto said = testing::HasSubstr("1 of the writes through the page cache");
  if (is_direct()) {
    EXPECT_THAT(writer->stats().detail, said);
  } else {
    EXPECT_THAT(writer->stats().detail, testing::Not(said)) << "as all do";
  }
}

TEST_P(AlignedWriterTest, AnOffsetThatNoFileHasIsRefusedForGood) {
  const auto writer = create();
  const auto error = test::error_of([&] { writer->write(~0ULL, bytes_of("x")); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), testing::HasSubstr("File too large"));
  EXPECT_STREQ(test::error_of([&] { writer->write(0, bytes_of("x")); })->what(), error->what());
}

TEST_P(AlignedWriterTest, WhatIsNotFlushedIsNotTornByTheDestructor) {
  BufferPool pool(1 << 20, 4);
  for (int i = 0; i < 5; ++i) {
    std::filesystem::remove(path_);
    const auto writer = create();
    for (std::uint64_t k = 0; k < 4; ++k) writer->submit(k << 20, buffer_with(std::string(1 << 20, 'x'), pool));
  }
  EXPECT_EQ(pool.allocations(), 4U) << "all buffers came back";
  std::vector<Buffer> all;
  for (int i = 0; i < 4; ++i) all.push_back(pool.lend(1 << 20));
  EXPECT_EQ(pool.allocations(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Every, AlignedWriterTest, testing::Values(Kind::direct, Kind::uring, Kind::uring_direct),
                         [](const auto& instance) { return testing::PrintToString(instance.param); });

}  // namespace
}  // namespace millrace::io
