#include "stages/piece_layout.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

TEST(LayOut, NeighboursAreReadInOneGoWithWhatLiesBetweenThem) {
  const std::vector<io::Extent> pieces{{100, 50}, {160, 40}, {200, 10}};
  const PieceLayout layout = lay_out(pieces);
  EXPECT_EQ(layout.span.offset, 100U);
  EXPECT_EQ(layout.span.length, 110U);
  EXPECT_EQ(layout.bytes, 110U);
  EXPECT_TRUE(layout.scattered.empty());
  EXPECT_EQ(layout.offsets, (std::vector<std::uint64_t>{0, 60, 100}));
}

TEST(LayOut, TheOrderInTheFileIsFree) {
  const std::vector<io::Extent> pieces{{300, 50}, {100, 50}};
  EXPECT_EQ(lay_out(pieces).offsets, (std::vector<std::uint64_t>{200, 0}));
}

TEST(LayOut, PiecesFarApartAreReadOneByOne) {
  const std::vector<io::Extent> pieces{{0, 10}, {1 << 20, 20}};
  const PieceLayout layout = lay_out(pieces);
  EXPECT_EQ(layout.bytes, 30U);
  ASSERT_EQ(layout.scattered.size(), 2U);
  EXPECT_EQ(layout.offsets, (std::vector<std::uint64_t>{0, 10}));
}

TEST(Gather, CopiesThePiecesTogetherAndCountsIt) {
  const test::TempDirectory directory;
  const auto path = directory.write("f", "0123456789abcdef");
  io::PieceReader reader{io::ReadVia{}};
  reader.prepare({path}, [](std::uint64_t) { return std::nullopt; });
  call_context().tally = {};
  const std::vector<io::Extent> pieces{{10, 3}, {1, 2}};
  const Buffer bytes = gather(reader, path, pieces, 5);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "abc12");
  EXPECT_EQ(call_context().tally.copied_bytes, 5U);
}

}  // namespace
}  // namespace millrace
