#include "io/piece_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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
  std::vector<PieceReader::Piece> pieces_{{&files_[0], {0, 5}}, {&files_[0], {5, 5}}, {&files_[1], {0, 0}},
                                          {&files_[1], {0, 10}}, {},                  {&files_[2], {9, 1}},
                                          {&files_[2], {0, 9}}};
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

}  // namespace
}  // namespace millrace::io
