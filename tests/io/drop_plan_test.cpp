#include "io/drop_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace millrace::io {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

/// What a plan gives for each extent and at the end, as "0+2 4+2 -" in MiB.
std::string drops_of(std::uint64_t file_mib, const std::vector<Extent>& extents_in_mib) {
  DropPlan plan(file_mib * kMiB);
  std::string text;
  const auto add = [&text](const std::optional<Extent>& drop) {
    if (!text.empty()) text += " ";
    if (!drop) {
      text += "-";
      return;
    }
    EXPECT_EQ((drop->offset | drop->length) % kMiB, 0U);
    text += std::to_string(drop->offset / kMiB) + "+" + std::to_string(drop->length / kMiB);
  };
  for (const Extent extent : extents_in_mib) add(plan.passed({extent.offset * kMiB, extent.length * kMiB}));
  add(plan.rest());
  return text;
}

TEST(DropPlan, DropsWholeFoliosBehindTheReader) {
  EXPECT_EQ(drops_of(8, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 4}}), "- 0+2 - 2+2 4+4 -");
  EXPECT_EQ(drops_of(100, {{0, 16}, {16, 16}}), "0+16 16+16 -");
  EXPECT_EQ(drops_of(100, {{0, 5}, {5, 5}}), "0+4 4+6 -");
}

TEST(DropPlan, DropsTheEndOfTheFileWithItsLastExtent) {
  EXPECT_EQ(drops_of(5, {{0, 3}, {3, 2}}), "0+2 2+3 -");
  EXPECT_EQ(drops_of(1, {{0, 1}}), "0+1 -");
}

TEST(DropPlan, DropsTheRestWhenReadingEndsEarly) {
  EXPECT_EQ(drops_of(100, {{0, 3}}), "0+2 2+2");
  EXPECT_EQ(drops_of(100, {}), "-");
}

TEST(DropPlan, LeavesAloneWhatWasJumpedOver) {
  EXPECT_EQ(drops_of(100, {{0, 3}, {51, 2}, {53, 2}}), "0+2 2+2 50+4 54+2");
  EXPECT_EQ(drops_of(100, {{40, 4}, {44, 4}}), "40+4 44+4 -");
  EXPECT_EQ(drops_of(100, {{0, 3}, {4, 2}}), "0+2 2+4 -") << "a gap within a step is dropped with it";
}

TEST(DropPlan, DropsNothingForJumpsBackwards) {
  EXPECT_EQ(drops_of(100, {{20, 4}, {0, 4}, {22, 2}, {24, 2}}), "20+4 - - 24+2 -");
}

}  // namespace
}  // namespace millrace::io
