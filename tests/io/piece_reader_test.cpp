#include "io/piece_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "io/transports.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using test::text_of;
using testing::HasSubstr;

TEST(PieceReader, KeepsTheSumOverItsFiles) {
  const TempDirectory directory;
  const auto a = directory.write("a", "aaaa");
  const auto b = directory.write("b", "bb");
  PieceReader current((ReadVia()));
  EXPECT_EQ(current.stats().calls, 0U);
  EXPECT_EQ(current.stats().transport_used, "buffered");
  Reader* const first = &current.at(a);
  EXPECT_EQ(text_of(first->read({0, 4})), "aaaa");
  EXPECT_EQ(&current.at(a), first);
  EXPECT_EQ(text_of(current.at(b).read({0, 2})), "bb");
  EXPECT_EQ(text_of(current.at(a).read({0, 1})), "a");
  EXPECT_EQ(current.stats().calls, 3U);
  EXPECT_EQ(current.stats().bytes, 7U);
}

TEST(PieceReader, CanGoOnAfterAFileThatIsMissing) {
  const TempDirectory directory;
  const auto a = directory.write("a", "aaaa");
  PieceReader current((ReadVia()));
  current.at(a).read({0, 4});
  EXPECT_THROW(current.at(directory / "missing"), Error);
  EXPECT_EQ(current.stats().bytes, 4U);
  EXPECT_EQ(text_of(current.at(a).read({0, 4})), "aaaa");
}

class PieceReaderOfThreeFiles : public testing::Test {
 protected:
  PieceReader::Pieces pieces() const {
    return [this](std::uint64_t index) -> std::optional<PieceReader::Piece> {
      if (index >= pieces_.size()) return std::nullopt;
      return pieces_[index];
    };
  }

  TempDirectory directory_;
  std::vector<std::filesystem::path> files_{directory_.write("a", "0123456789"), directory_.write("b", "abcdefghij"),
                                            directory_.write("c", "ABCDEFGHIJ")};
  std::vector<PieceReader::Piece> pieces_{
      {&files_[0], {0, 5}}, {&files_[0], {5, 5}}, {&files_[1], {0, 0}}, {&files_[1], {0, 10}}, {},
      {&files_[2], {9, 1}}, {&files_[2], {0, 9}}};
};

TEST_F(PieceReaderOfThreeFiles, ReadsThemInOrderOrInAnyOther) {
  PieceReader reader((ReadVia()));
  reader.prepare(files_, pieces());
  const std::vector<std::string> expected{"01234", "56789", "", "abcdefghij", "", "J", "ABCDEFGHI"};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(text_of(reader.read(i)), expected[i]) << i;
  for (const std::size_t i : {6, 0, 3, 5, 1}) EXPECT_EQ(text_of(reader.read(i)), expected[i]) << i;
  EXPECT_TRUE(reader.read(7).empty());
  EXPECT_EQ(reader.stats().bytes, 30U + 9 + 5 + 10 + 1 + 5);
}

TEST_F(PieceReaderOfThreeFiles, FurtherSlotsShareThePiecesButNoDepthAndNoWindow) {
  PieceReader first((ReadVia()));
  first.prepare(files_, pieces());
  PieceReader second((ReadVia()));
  second.prepare_like(first);
  EXPECT_EQ(text_of(second.read(1)), "56789");
  EXPECT_EQ(text_of(first.read(0)), "01234");

  ReadVia deep;
  deep.depth = 4;
  ReadVia advised;
  advised.advice.kind = AdvicePolicy::Kind::willneed;
  for (const ReadVia& via : {deep, advised}) {
    PieceReader alone(via);
    alone.prepare(files_, pieces());
    const auto error = error_of([&] { PieceReader((ReadVia())).prepare_like(alone); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::config);
    EXPECT_THAT(error->message(), HasSubstr("needs slots = 1"));
  }
  advised.advice.scope = AdvicePolicy::Scope::file;
  PieceReader alone(advised);
  alone.prepare(files_, pieces());
  PieceReader((ReadVia())).prepare_like(alone);  // one call when a file is opened: any slot can make it
}

/// Many small pieces of one file, in its order, over a transport without the page cache.
class NeighboursOfAFile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::mt19937_64 random(17);
    contents_.resize(3 << 20);
    for (char& byte : contents_) byte = static_cast<char>(random());
    file_ = directory_.write("a", contents_);
    for (std::uint64_t at = 0;;) {
      at += random() % 10 == 0 ? random() % 60'000 : random() % 3000;  // gaps, a few of them too wide to read along
      const std::uint64_t length = random() % 8 == 0 ? 0 : random() % 20'000;
      if (at + length > contents_.size()) break;
      pieces_.push_back({&file_, {at, length}});
      at += length;
    }
    via_.transport = via_.transport_requested = GetParam();
    if (const Probe probe = find_transport(GetParam())->probe_read(file_); !probe.works) GTEST_SKIP() << probe.reason;
  }

  PieceReader reader(PieceReader::Grouping grouping) const {
    PieceReader reader(via_);
    reader.prepare(
        {file_},
        [this](std::uint64_t index) { return index < pieces_.size() ? std::optional(pieces_[index]) : std::nullopt; },
        grouping);
    return reader;
  }
  std::string expected(std::uint64_t index) const {
    return contents_.substr(pieces_[index].extent.offset, pieces_[index].extent.length);
  }

  TempDirectory directory_;
  std::string contents_;
  std::filesystem::path file_;
  std::vector<PieceReader::Piece> pieces_;
  ReadVia via_;
};

TEST_P(NeighboursOfAFile, AreReadInOneGoAndGiveTheSame) {
  PieceReader alone = reader(PieceReader::Grouping::alone);
  PieceReader grouped = reader(PieceReader::Grouping::neighbours);
  std::vector<Buffer> kept;  // chunks live longer than the next read
  for (std::uint64_t i = 0; i < pieces_.size(); ++i) {
    EXPECT_EQ(text_of(alone.read(i)), expected(i)) << i;
    kept.push_back(grouped.read(i));
  }
  for (std::uint64_t i = 0; i < pieces_.size(); ++i) EXPECT_EQ(text_of(kept[i]), expected(i)) << i;
  EXPECT_LT(grouped.stats().calls * 10, alone.stats().calls);
  EXPECT_EQ(grouped.buffer_needs().held, alone.buffer_needs().held + 1);
}

TEST_P(NeighboursOfAFile, AreRightInAnyOrderToo) {
  PieceReader grouped = reader(PieceReader::Grouping::neighbours);
  std::mt19937_64 random(3);
  std::uint64_t next = 0;
  for (int i = 0; i < 300; ++i) {
    if (random() % 5 == 0) next = random() % pieces_.size();  // a jump, forwards or backwards
    EXPECT_EQ(text_of(grouped.read(next)), expected(next)) << next;
    next = (next + 1 + (random() % 4 == 0 ? 1 : 0)) % pieces_.size();
  }
}

TEST_P(NeighboursOfAFile, NeverNeedMoreThanTheirBuffersAnnounce) {
  PieceReader grouped = reader(PieceReader::Grouping::neighbours);
  test::RecyclingLender lender;
  const test::LendFrom lend(lender);
  std::uint64_t longest = 0;
  for (const auto& piece : pieces_) longest = std::max(longest, piece.extent.length);
  for (std::uint64_t i = 0; i < pieces_.size(); ++i) grouped.read(i);
  EXPECT_LE(lender.largest_loan(), longest + grouped.buffer_needs().padding_bytes);
}

INSTANTIATE_TEST_SUITE_P(Uncached, NeighboursOfAFile, testing::Values("direct", "uring_direct"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace millrace::io
