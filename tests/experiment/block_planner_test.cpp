#include "pipeline/experiment/block_planner.h"

#include <gtest/gtest.h>

#include <cmath>

namespace millrace {
namespace {

TEST(BlockPlanner, AsksForMoreBlocksOfMoreNoiseSmallerEffectsAndMoreArms) {
  const BlockPlanner one({}, 3);
  const BlockPlanner eight({}, 10);
  std::uint32_t before = 0;
  for (const double deviation : {.001, .01, .02, .05, .1, .2}) {
    const auto blocks = one.until_claimed(0.05, deviation);
    ASSERT_TRUE(blocks);
    EXPECT_GE(*blocks, before);
    EXPECT_GE(*one.until_claimed(0.02, deviation), *blocks);
    EXPECT_GE(*eight.until_claimed(0.05, deviation), *blocks);
    before = *blocks;
  }
  EXPECT_EQ(one.until_claimed(-0.05, 0.02), one.until_claimed(0.05, 0.02));
}

TEST(BlockPlanner, KnowsTheEffectThatItsBlocksFind) {
  const BlockPlanner planner({}, 4);
  for (const std::uint32_t blocks : {5U, 6U, 12U, 30U}) {
    const double ratio = planner.detectable_ratio(blocks, 0.02);
    EXPECT_GT(ratio, 1);
    EXPECT_EQ(planner.until_claimed(std::log(ratio) * 1.002, 0.02), blocks);
    EXPECT_GT(planner.until_claimed(std::log(ratio) * 0.99, 0.02), blocks);
  }
  EXPECT_NEAR(planner.detectable_ratio(6, 0), 1, 1e-9);
}

TEST(BlockPlanner, NeverFindsNothingAndNeverCallsAnEffectEquivalent) {
  const BlockPlanner planner({}, 3);
  EXPECT_FALSE(planner.until_claimed(0, 0.02));
  EXPECT_FALSE(planner.until_equivalent(std::log(1.06), 0.02, 0.05));
  EXPECT_TRUE(planner.until_equivalent(0, 0.02, 0.05));
  EXPECT_EQ(planner.until_settled(0, 0.02, 0.05), planner.until_equivalent(0, 0.02, 0.05));
  EXPECT_EQ(planner.until_settled(0.2, 0.02, 0.05), planner.until_claimed(0.2, 0.02));
  EXPECT_FALSE(planner.until_settled(1e-6, 10, 0.05));
}

TEST(BlockPlanner, WithoutAnyNoiseNeedsAsFewAsCanBe) {
  const BlockPlanner planner({}, 3);
  EXPECT_EQ(planner.until_claimed(0.01, 0), 2U);
  EXPECT_EQ(planner.until_equivalent(0, 0, 0.05), 2U);
}

TEST(BlockPlanner, DecidesOnlyWhereAnEffectIsLookedFor) {
  ComparisonDesign design;
  EXPECT_FALSE(BlockPlanner(design, 3).until_decided(0.02));
  design.detect = 0.02;
  design.blocks = 40;
  EXPECT_EQ(margin_to_stop_at(design), 0.02);
  const auto two_percent = BlockPlanner(design, 3).until_decided(0.02);
  design.detect = 0.10;
  EXPECT_EQ(margin_to_stop_at(design), 0.05);
  EXPECT_LT(BlockPlanner(design, 3).until_decided(0.02), two_percent);
}

}  // namespace
}  // namespace millrace
