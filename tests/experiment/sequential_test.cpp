#include "pipeline/experiment/sequential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "pipeline/experiment/block_planner.h"
#include "tests/experiment/simulated_runs.h"

namespace millrace {
namespace {

using testing::ElementsAre;

ComparisonDesign detecting(double effect, std::uint32_t most_blocks, std::uint32_t pilot_blocks = 4) {
  ComparisonDesign design;
  design.detect = effect;
  design.blocks = most_blocks;
  design.pilot_blocks = pilot_blocks;
  return design;
}

TEST(Looks, AreOneOfAFixedNumberOfBlocks) {
  EXPECT_THAT(looks_of({}), ElementsAre(6));
  EXPECT_NEAR(error_rate_of_a_look({}), 0.05, 1e-12);
}

TEST(Looks, ComeAQuarterLaterEachTime) {
  EXPECT_THAT(looks_of(detecting(.05, 40)), ElementsAre(4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40));
  EXPECT_THAT(looks_of(detecting(.05, 8)), ElementsAre(4, 5, 6, 8));
  EXPECT_THAT(looks_of(detecting(.05, 5)), ElementsAre(4, 5));
  EXPECT_THAT(looks_of(detecting(.05, 4)), ElementsAre(4));
  EXPECT_THAT(looks_of(detecting(.05, 3)), ElementsAre(3));
  EXPECT_THAT(looks_of(detecting(.05, 1)), ElementsAre(1));
  EXPECT_THAT(looks_of(detecting(.05, 6, 0)), ElementsAre(2, 3, 5, 6));
}

TEST(Looks, RiseToTheMaximumAndShareTheErrorRate) {
  for (std::uint32_t pilot = 1; pilot < 12; ++pilot) {
    for (std::uint32_t most = 1; most < 200; ++most) {
      const auto looks = looks_of(detecting(.05, most, pilot));
      EXPECT_TRUE(std::is_sorted(looks.begin(), looks.end()));
      EXPECT_EQ(std::adjacent_find(looks.begin(), looks.end()), looks.end());
      EXPECT_EQ(looks.back(), most);
      EXPECT_NEAR(error_rate_of_a_look(detecting(.05, most, pilot)) * static_cast<double>(looks.size()), 0.05, 1e-12);
    }
  }
}

/// Many experiments that stop when they are decided.
struct Ended {
  double any_claim = 0;
  double found = 0;
  double equivalent = 0;
  double covered = 0;
  double blocks = 0;
};

Ended many(const test::SimulatedRuns& runs, const ComparisonDesign& design, int draws) {
  std::mt19937_64 random(5);
  Ended sum;
  for (int draw = 0; draw < draws; ++draw) {
    const Comparison result = runs.until_decided(design, random);
    sum.any_claim += std::any_of(result.arms.begin(), result.arms.end(),
                                 [](const ArmEffect& arm) {
                                   return arm.verdict == ArmVerdict::faster || arm.verdict == ArmVerdict::slower;
                                 })
                         ? 1
                         : 0;
    const ArmEffect& arm = result.arms[2];
    sum.found += arm.verdict == ArmVerdict::faster ? 1 : 0;
    sum.equivalent += arm.verdict == ArmVerdict::equivalent ? 1 : 0;
    sum.covered += *arm.low <= runs.ratios[0] && runs.ratios[0] <= *arm.high ? 1 : 0;
    sum.blocks += result.blocks_planned;
  }
  for (double* value : {&sum.any_claim, &sum.found, &sum.equivalent, &sum.covered, &sum.blocks}) *value /= draws;
  return sum;
}

test::SimulatedRuns runs_of(double log_sd, std::size_t arms, double ratio) {
  test::SimulatedRuns runs;
  runs.log_sd = log_sd;
  runs.ratios.assign(arms, 1.0);
  runs.ratios[0] = ratio;
  return runs;
}

class ArmsAskedAbout : public testing::TestWithParam<std::size_t> {};

TEST_P(ArmsAskedAbout, ClaimFalselyInAtMostFivePercentOfExperiments) {
  for (const ComparisonDesign& design : {ComparisonDesign{}, detecting(.05, 40), detecting(.01, 20)}) {
    for (const auto& noise : {test::SimulatedRuns{}.noise, {test::heavy_tailed}, {test::lopsided}}) {
      test::SimulatedRuns runs = runs_of(0.03, GetParam(), 1);
      runs.noise = noise;
      EXPECT_LE(many(runs, design, 800).any_claim, 0.05);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sequential, ArmsAskedAbout, testing::Values(1U, 3U, 8U));

/// Standard deviation of one block's log ratio.
class NoiseOf : public testing::TestWithParam<double> {};

TEST_P(NoiseOf, IsPlannedForSoThatAnEffectIsFound) {
  for (const std::size_t arms : {1U, 4U}) {
    ComparisonDesign design;
    design.blocks = BlockPlanner(design, arms + 2).until_claimed(std::log(1.05), GetParam()).value();
    EXPECT_GE(many(runs_of(GetParam(), arms, 1.05), design, 2000).found, 0.9 - 0.02);
    EXPECT_GE(many(runs_of(GetParam(), arms, 1 / 1.05), design, 2000).any_claim, 0.9 - 0.02);
  }
}

TEST_P(NoiseOf, IsCopedWithByStoppingWhenDecided) {
  const ComparisonDesign design = detecting(.05, 40);
  const auto effect = many(runs_of(GetParam(), 1, 1.05), design, 500);
  EXPECT_GE(effect.found, 0.9);
  EXPECT_GE(effect.covered, 0.95) << "however the end was chosen";
  const auto none = many(runs_of(GetParam(), 1, 1), design, 500);
  EXPECT_GE(none.equivalent, 0.9);
  EXPECT_LE(none.any_claim, 0.05);
  const auto planned = BlockPlanner(design, 3).until_decided(GetParam()).value();
  EXPECT_LE(effect.blocks, std::max(planned, 4U)) << "stops early on the whole";
  EXPECT_LE(none.blocks, std::max(planned, 4U));
  EXPECT_LE(many(runs_of(GetParam(), 1, 1.0501), design, 500).equivalent, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Sequential, NoiseOf, testing::Values(0.005, 0.01, 0.02, 0.05));

TEST(Detect, LooksOnlyWhenItIsTime) {
  std::mt19937_64 random(6);
  const test::SimulatedRuns runs = runs_of(0.001, 1, 2.0);
  for (std::uint32_t blocks = 1; blocks <= 20; ++blocks) {
    const Comparison comparison = compare(runs.blocks(blocks, random), detecting(.05, 40));
    const bool is_look = blocks == 4 || blocks == 5 || blocks == 6 || blocks == 8 || blocks == 10 || blocks == 13 ||
                         blocks == 16 || blocks == 20;
    EXPECT_EQ(comparison.decided, is_look) << blocks;
  }
}

TEST(Detect, HasNoPlanBeforeThePilotIsDone) {
  std::mt19937_64 random(7);
  const Comparison comparison = compare(runs_of(0.02, 1, 1).blocks(3, random), detecting(.05, 40));
  EXPECT_FALSE(comparison.blocks_needed);
  EXPECT_EQ(comparison.blocks_planned, 40U);
}

TEST(Detect, PlansForTheNoiseThatThePilotShowed) {
  std::mt19937_64 random(8);
  const Comparison comparison = compare(runs_of(0.05, 2, 1).blocks(4, random), detecting(.05, 40));
  ASSERT_TRUE(comparison.blocks_needed);
  EXPECT_EQ(comparison.blocks_needed, BlockPlanner(detecting(.05, 40), 4).until_decided(comparison.log_sd));
  EXPECT_GE(comparison.blocks_planned, std::min(*comparison.blocks_needed, 40U));
}

TEST(Detect, SaysWhenTheMaximumCannotDoIt) {
  std::mt19937_64 random(9);
  const Comparison comparison = compare(runs_of(0.2, 1, 1).blocks(6, random), detecting(.05, 10));
  ASSERT_TRUE(comparison.blocks_needed);
  EXPECT_GT(*comparison.blocks_needed, 10U);
  EXPECT_EQ(comparison.blocks_planned, 10U);
  EXPECT_FALSE(comparison.decided);
}

TEST(Detect, DoesNotStopAtAnEquivalenceThatWouldHideTheEffect) {
  RatesByBlock rates;
  std::mt19937_64 random(10);
  rates = runs_of(0.006, 1, 1).blocks(10, random);
  const Comparison for_five = compare(rates, detecting(.05, 40));
  EXPECT_EQ(for_five.arms[2].verdict, ArmVerdict::equivalent);
  EXPECT_TRUE(for_five.decided);
  const Comparison for_half = compare(rates, detecting(.005, 40));
  EXPECT_EQ(for_half.arms[2].verdict, ArmVerdict::equivalent);
  EXPECT_FALSE(for_half.decided);
}

TEST(Detect, OfTheBaselineAloneStopsWhenItIsLikeItself) {
  std::mt19937_64 random(11);
  RatesByBlock rates = runs_of(0.005, 1, 1).blocks(6, random);
  rates.pop_back();
  EXPECT_TRUE(compare(rates, detecting(.05, 40)).decided);
}

}  // namespace
}  // namespace millrace
