#include "pipeline/experiment/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "pipeline/core/error.h"
#include "tests/experiment/simulated_runs.h"

namespace millrace {
namespace {

using testing::Each;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;

/// Rates of a baseline of 100 in every block, and of arms whose log ratios to it are given.
RatesByBlock with_log_ratios(const std::vector<std::vector<double>>& arms) {
  RatesByBlock rates{std::vector<std::optional<double>>(arms.at(0).size(), 100.0)};
  for (const auto& arm : arms) {
    rates.emplace_back();
    for (const double log_ratio : arm) rates.back().emplace_back(100 * std::exp(log_ratio));
  }
  return rates;
}

ArmVerdict verdict_of_the_arm(const RatesByBlock& rates, const ComparisonDesign& design = {}) {
  return compare(rates, design).arms.at(2).verdict;
}

TEST(Compare, WorksOutEveryFigureOfASmallExample) {
  const Comparison comparison = compare(with_log_ratios({{0.01, -0.01, 0.01, -0.01}, {0.1, 0.2, 0.3, 0.2}}), {});
  const ArmEffect& arm = comparison.arms.at(2);
  EXPECT_EQ(arm.blocks, 4U);
  EXPECT_NEAR(arm.ratio, std::exp(0.2), 1e-12);
  // Sum of squares 0.02, so the deviation is sqrt(0.02 / 3), the standard error half of it; t(0.975, 3) = 3.182446.
  const double half = 3.182446 * std::sqrt(0.02 / 3) / 2;
  EXPECT_NEAR(*arm.low, std::exp(0.2 - half), 1e-6);
  EXPECT_NEAR(*arm.high, std::exp(0.2 + half), 1e-6);
  EXPECT_EQ(arm.faster_blocks, 4U);
  EXPECT_EQ(arm.slower_blocks, 0U);
  EXPECT_THAT(arm.p_value, Optional(2.0 / 16));
  EXPECT_THAT(arm.p_holm, Optional(2.0 / 16));
  // t = 0.2 / (sqrt(0.02 / 3) / 2) = 4.898979; both tails of t with 3 degrees of freedom, in closed form:
  // 1 - 2/pi (atan(t/sqrt 3) + sqrt 3 t / (t^2 + 3)).
  const double t = 4.898979485566356;
  const double pi = std::acos(-1.0);
  const double p = 1 - 2 / pi * (std::atan(t / std::sqrt(3.0)) + std::sqrt(3.0) * t / (t * t + 3));
  EXPECT_NEAR(*arm.p_claim, p, 1e-9);
  EXPECT_EQ(arm.verdict, ArmVerdict::faster);
  // A/A: mean 0, sum of squares 0.0004.
  const double floor = 3.182446 * std::sqrt(0.0004 / 3) / 2;
  EXPECT_NEAR(*comparison.noise_floor, std::exp(floor), 1e-6);
  EXPECT_NEAR(comparison.log_sd, std::sqrt(0.0204 / 6), 1e-12);
  EXPECT_EQ(comparison.arms[0].ratio, 1);
  EXPECT_FALSE(comparison.arms[0].low);
  EXPECT_FALSE(comparison.arms[1].p_holm);
}

TEST(Compare, TellsFasterFromSlower) {
  const std::vector<double> noise{0.001, -0.001, 0.002, -0.002, 0.001, -0.001};
  std::vector<double> up;
  std::vector<double> down;
  for (const double value : noise) {
    up.push_back(0.1 + value);
    down.push_back(-0.1 - value);
  }
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({noise, up})), ArmVerdict::faster);
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({noise, down})), ArmVerdict::slower);
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({noise, noise})), ArmVerdict::equivalent);
}

TEST(Compare, OfOneBlockIsAlwaysInconclusive) {
  const Comparison comparison = compare(with_log_ratios({{0.0}, {3.0}}), {});
  const ArmEffect& arm = comparison.arms.at(2);
  EXPECT_EQ(arm.verdict, ArmVerdict::inconclusive);
  EXPECT_NEAR(arm.ratio, std::exp(3.0), 1e-9);
  EXPECT_FALSE(arm.low);
  EXPECT_THAT(arm.p_value, Optional(1.0));
  EXPECT_FALSE(arm.further_blocks);
  EXPECT_FALSE(comparison.noise_floor);
  EXPECT_FALSE(comparison.minimal_detectable_ratio);
  EXPECT_FALSE(comparison.decided);
}

TEST(Compare, OfNoBlocksAndNoArmsSaysNothing) {
  EXPECT_TRUE(compare({}, {}).arms.empty());
  const Comparison comparison = compare({{}, {}, {}}, {});
  ASSERT_EQ(comparison.arms.size(), 3U);
  EXPECT_EQ(comparison.arms[2].blocks, 0U);
  EXPECT_EQ(comparison.arms[2].ratio, 1);
  EXPECT_EQ(comparison.arms[2].verdict, ArmVerdict::inconclusive);
  EXPECT_EQ(compare({{100.0, 101.0}}, {}).arms.at(0).verdict, ArmVerdict::inconclusive);
}

TEST(Compare, DoesNotCallAnEffectWhatTheSameSettingsAlsoDo) {
  const std::vector<double> effect{0.08, 0.081, 0.079, 0.08, 0.081, 0.079};
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({{.001, -.001, .001, -.001, .001, -.001}, effect})), ArmVerdict::faster);
  // The baseline against itself is off by as much (a slow start of the first file, say) ...
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({effect, effect})), ArmVerdict::inconclusive);
  // ... or scatters so much that it could be.
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({{.2, -.2, .2, -.2, .2, -.2}, effect})), ArmVerdict::inconclusive);
  // Without two blocks of it nobody knows.
  RatesByBlock rates = with_log_ratios({effect, effect});
  for (auto& rate : rates[1]) rate.reset();
  EXPECT_EQ(verdict_of_the_arm(rates), ArmVerdict::inconclusive);
}

TEST(Compare, CallsATinyRealEffectByItsDirectionUnlessTheFloorHidesIt) {
  const std::vector<double> tiny{0.010, 0.011, 0.009, 0.010, 0.011, 0.009};
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({{.001, -.001, .001, -.001, .001, -.001}, tiny})), ArmVerdict::faster);
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({{.02, -.02, .02, -.02, .02, -.02}, tiny})), ArmVerdict::equivalent);
}

TEST(Compare, NeedsStrongerEvidenceFromOneOfManyArms) {
  const std::vector<double> still{.001, -.001, .001, -.001, .001, -.001};
  const std::vector<double> doubtful{.10, .02, .12, -.01, .11, .03};
  const std::vector<double> wide{.2, -.2, .2, -.2, .2, -.2};
  const Comparison alone = compare(with_log_ratios({still, doubtful}), {});
  const Comparison among = compare(with_log_ratios({still, doubtful, wide, wide, wide}), {});
  EXPECT_EQ(alone.arms[2].verdict, ArmVerdict::faster);
  EXPECT_EQ(among.arms[2].verdict, ArmVerdict::inconclusive);
  EXPECT_EQ(alone.arms[2].low, among.arms[2].low) << "the interval is the arm's own";
  EXPECT_DOUBLE_EQ(*among.arms[2].p_claim, 4 * *alone.arms[2].p_claim);
  EXPECT_DOUBLE_EQ(*among.arms[2].p_holm, std::min(1.0, 4 * *alone.arms[2].p_holm));
}

TEST(Compare, PairsOnlyBlocksInWhichBothWereMeasured) {
  RatesByBlock rates = with_log_ratios({{0, 0.01, 0, -0.01}, {0.1, 0.2, 5.0, 0.3}});
  rates[2][2].reset();
  rates[0][1].reset();
  const Comparison comparison = compare(rates, {});
  EXPECT_EQ(comparison.arms[2].blocks, 2U);
  EXPECT_NEAR(comparison.arms[2].ratio, std::exp(0.2), 1e-12);
  EXPECT_EQ(comparison.arms[1].blocks, 3U);
  EXPECT_EQ(comparison.arms[0].blocks, 3U);
}

TEST(Compare, DoesNotCareForUnitsOrWhatBlocksHaveInCommon) {
  std::mt19937_64 random(1);
  const test::SimulatedRuns runs{.ratios = {1.03, 0.9}};
  RatesByBlock rates = runs.blocks(6, random);
  const Comparison before = compare(rates, {});
  for (std::size_t block = 0; block < 6; ++block)
    for (auto& arm : rates) *arm[block] *= std::pow(10.0, static_cast<double>(block) - 7);
  const Comparison after = compare(rates, {});
  for (std::size_t arm = 1; arm < rates.size(); ++arm) {
    EXPECT_NEAR(after.arms[arm].ratio, before.arms[arm].ratio, 1e-9);
    EXPECT_NEAR(*after.arms[arm].high, *before.arms[arm].high, 1e-9);
    EXPECT_EQ(after.arms[arm].verdict, before.arms[arm].verdict);
  }
}

TEST(Compare, TurnsRoundWithItsArms) {
  std::mt19937_64 random(2);
  for (int draw = 0; draw < 20; ++draw) {
    RatesByBlock rates = test::SimulatedRuns{.ratios = {1.04}}.blocks(6, random);
    const Comparison there = compare(rates, {});
    for (auto& arm : rates)
      for (auto& rate : arm) rate = 1 / *rate;
    const Comparison back = compare(rates, {});
    EXPECT_NEAR(there.arms[2].ratio * back.arms[2].ratio, 1, 1e-9);
    EXPECT_NEAR(*there.arms[2].low * *back.arms[2].high, 1, 1e-9);
    EXPECT_EQ(there.arms[2].faster_blocks, back.arms[2].slower_blocks);
    EXPECT_EQ(there.arms[2].verdict == ArmVerdict::faster, back.arms[2].verdict == ArmVerdict::slower);
  }
}

TEST(Compare, CopesWithRunsThatAreAllTheSame) {
  const Comparison same = compare(with_log_ratios({{0, 0, 0}, {0, 0, 0}}), {});
  EXPECT_EQ(same.arms[2].verdict, ArmVerdict::equivalent);
  EXPECT_THAT(same.arms[2].p_value, Optional(1.0));
  EXPECT_THAT(same.noise_floor, Optional(1.0));
  EXPECT_EQ(verdict_of_the_arm(with_log_ratios({{0, 0, 0}, {0.5, 0.5, 0.5}})), ArmVerdict::faster);
}

TEST(Compare, SaysHowManyBlocksAreMissing) {
  const std::vector<double> noise{.05, -.05, .04, -.04};
  const Comparison comparison = compare(with_log_ratios({noise, {.10, .02, .11, .01}}), {.blocks = 4});
  ASSERT_EQ(comparison.arms[2].verdict, ArmVerdict::inconclusive);
  ASSERT_TRUE(comparison.arms[2].further_blocks);
  EXPECT_GE(*comparison.arms[2].further_blocks, 1U);
  EXPECT_LE(*comparison.arms[2].further_blocks, 40U);
  ASSERT_TRUE(comparison.minimal_detectable_ratio);
  EXPECT_GT(*comparison.minimal_detectable_ratio, comparison.arms[2].ratio) << "or it would have been found";
}

TEST(Compare, SaysNothingOfBlocksThatNobodyWouldWaitFor) {
  std::vector<double> wild;
  std::vector<double> margin;
  for (int i = 0; i < 6; ++i) {
    wild.push_back(i % 2 == 0 ? 6 : -6);
    margin.push_back((i % 2 == 0 ? 6 : -6) + 0.04);
  }
  const Comparison comparison = compare(with_log_ratios({wild, margin}), {});
  EXPECT_EQ(comparison.arms[2].verdict, ArmVerdict::inconclusive);
  EXPECT_FALSE(comparison.arms[2].further_blocks);
}

std::string complaint(const RatesByBlock& rates, const ComparisonDesign& design) {
  try {
    compare(rates, design);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Compare, RefusesWhatIsNoRate) {
  const auto refused = [](double rate) { return complaint({{1.0, 1.0}, {1.0, rate}}, {}); };
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_THAT(refused(rate), HasSubstr("arm 1 in block 1"));
  EXPECT_THAT(complaint({{1.0, 1.0}, {1.0}}, {}), HasSubstr("arm 1 has 1 blocks, the baseline 2"));
}

TEST(Compare, RefusesADesignWithoutSense) {
  const RatesByBlock rates{{1.0}, {1.0}, {1.0}};
  EXPECT_THAT(complaint(rates, {.confidence = 1}), HasSubstr("confidence"));
  EXPECT_THAT(complaint(rates, {.power = 0}), HasSubstr("power"));
  EXPECT_THAT(complaint(rates, {.equivalence_margin = -0.1}), HasSubstr("margin"));
  EXPECT_THAT(complaint(rates, {.detect = 0}), HasSubstr("effect"));
  EXPECT_THAT(complaint(rates, {.blocks = 0}), HasSubstr("block"));
}

TEST(Compare, NamesItsVerdicts) {
  EXPECT_STREQ(name_of(ArmVerdict::faster), "faster");
  EXPECT_STREQ(name_of(ArmVerdict::slower), "slower");
  EXPECT_STREQ(name_of(ArmVerdict::equivalent), "equivalent");
  EXPECT_STREQ(name_of(ArmVerdict::inconclusive), "inconclusive");
}

}  // namespace
}  // namespace millrace
