#include "pipeline/experiment/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "pipeline/experiment/paired_effect.h"
#include "tests/experiment/simulated_runs.h"

namespace millrace {
namespace {

TEST(TTestPower, IsThatOfTheTables) {
  // Cohen's d 0.5: 33.4 pairs for 80 %, 44 for 90 %; d 0.8: 15 pairs for 80 %; as in the tables of that name.
  EXPECT_NEAR(t_test_power(34, 0.5, 0.05), 0.808, 0.002);
  EXPECT_NEAR(t_test_power(44, 0.5, 0.05), 0.900, 0.003);
  EXPECT_NEAR(t_test_power(15, 0.8, 0.05), 0.821, 0.003);
  EXPECT_DOUBLE_EQ(t_test_power(10, 0, 0.05), 0.025);
}

TEST(ClaimPower, IsBelowThatOfTheTestAlone) {
  for (const std::uint32_t blocks : {2U, 4U, 10U, 100U})
    for (const double effect : {0.1, 0.5, 1.0, 3.0})
      EXPECT_LT(claim_power(blocks, effect, {}), t_test_power(blocks, effect, 0.05) + 1e-9);
}

TEST(ClaimPower, IsThatOfTheTestWhereTheFloorIsLow) {
  // The A/A arm's interval at an error rate of nearly 1 has no width; its own effect alone is left, which is small
  // beside an effect that a test this strict can find.
  const VerdictStrictness strictness{.claim = 1e-6, .interval = 0.999};
  for (const double effect : {1.0, 1.2, 1.5})
    EXPECT_NEAR(claim_power(40, effect, strictness), t_test_power(40, effect, 1e-6), 2e-3);
}

TEST(ClaimPower, GrowsWithBlocksAndEffect) {
  for (std::uint32_t blocks = 2; blocks < 40; ++blocks)
    EXPECT_LE(claim_power(blocks, 0.9, {}), claim_power(blocks + 1, 0.9, {}) + 1e-9);
  for (double effect = 0; effect < 4; effect += 0.1)
    EXPECT_LE(claim_power(6, effect, {}), claim_power(6, effect + 0.1, {}) + 1e-9);
  EXPECT_NEAR(claim_power(2, 1e12, {}), 1, 1e-5);
}

/// Blocks, deviations per effect, arms: what the verdict finds in simulated experiments.
class ClaimPowerOf : public testing::TestWithParam<std::tuple<std::uint32_t, double, std::size_t>> {};

TEST_P(ClaimPowerOf, IsTheShareThatIsFound) {
  const auto [blocks, effect, arms] = GetParam();
  test::SimulatedRuns runs;
  runs.ratios.assign(arms, 1.0);
  runs.ratios[0] = std::exp(effect * runs.log_sd);
  ComparisonDesign design;
  design.blocks = blocks;
  std::mt19937_64 random(3);
  constexpr int kDraws = 4000;
  int found = 0;
  for (int draw = 0; draw < kDraws; ++draw)
    found += runs.until_decided(design, random).arms[2].verdict == ArmVerdict::faster ? 1 : 0;
  const double predicted = claim_power(blocks, effect, {.claim = 0.05 / static_cast<double>(arms), .interval = 0.05});
  const double share = found / double{kDraws};
  const double chance = 3 * std::sqrt(0.25 / kDraws);
  EXPECT_GE(share, predicted - chance);
  EXPECT_LE(share, predicted + 0.02 + chance);
}

INSTANTIATE_TEST_SUITE_P(Power, ClaimPowerOf,
                         testing::Values(std::tuple{3U, 5.0, 1U}, std::tuple{4U, 2.0, 1U}, std::tuple{6U, 1.5, 1U},
                                         std::tuple{6U, 2.5, 4U}, std::tuple{15U, 0.95, 1U}, std::tuple{15U, 0.6, 2U}));

TEST(EquivalencePower, IsTheShareOfIntervalsThatLieWithin) {
  std::mt19937_64 random(4);
  constexpr int kDraws = 10'000;
  for (const double effect : {0.0, 0.4, 0.9}) {
    std::normal_distribution<double> normal(effect);
    int within = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> values(12);
      for (double& value : values) value = normal(random);
      const PairedEffect seen = paired_effect(values);
      const double half = half_width(seen, 0.05);
      within += seen.mean - half >= -1.1 && seen.mean + half <= 1.2 ? 1 : 0;
    }
    EXPECT_NEAR(equivalence_power(12, effect, -1.1, 1.2, 0.05), within / double{kDraws}, 0.015);
  }
}

TEST(EquivalencePower, OutsideTheMarginIsSmall) {
  EXPECT_LT(equivalence_power(20, 1.0, -1, 1, 0.05), 0.0251);
  EXPECT_GT(equivalence_power(1000, 0, -1, 1, 0.05), 0.9999);
}

TEST(DetectableEffect, IsFoundWithThePowerAskedFor) {
  for (const std::uint32_t blocks : {2U, 3U, 6U, 40U, 1000U}) {
    const double effect = detectable_effect_in_sd(blocks, {}, 0.9);
    EXPECT_NEAR(claim_power(blocks, effect, {}), 0.9, 1e-3) << blocks;
  }
}

TEST(BlocksForPower, IsTheFirstNumberThatIsEnough) {
  for (const std::uint32_t enough : {2U, 3U, 4U, 5U, 17U, 1000U, 9999U, 10'000U})
    EXPECT_EQ(blocks_for_power([&](std::uint32_t blocks) { return blocks >= enough ? 0.95 : 0.1; }, 0.9), enough);
  EXPECT_FALSE(blocks_for_power([](std::uint32_t) { return 0.89; }, 0.9));
}

}  // namespace
}  // namespace millrace
