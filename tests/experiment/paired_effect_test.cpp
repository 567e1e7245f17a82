#include "pipeline/experiment/paired_effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/experiment/simulated_runs.h"

namespace millrace {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(LogRatios, AreOfBlocksInWhichBothWereMeasured) {
  const std::vector<std::optional<double>> baseline{1, 2, {}, 4, 5};
  const std::vector<std::optional<double>> arm{2, {}, 3, 2, 5};
  EXPECT_THAT(log_ratios(arm, baseline),
              ElementsAre(DoubleNear(std::log(2.0), 1e-15), DoubleNear(-std::log(2.0), 1e-15), 0));
}

TEST(PairedEffect, IsMeanAndScatter) {
  const PairedEffect effect = paired_effect(std::vector{1.0, 2.0, 3.0, 6.0, -2.0, 0.0});
  EXPECT_EQ(effect.blocks, 6U);
  EXPECT_DOUBLE_EQ(effect.mean, 10.0 / 6);
  EXPECT_DOUBLE_EQ(effect.standard_deviation, std::sqrt((54 - 100.0 / 6) / 5));
  EXPECT_EQ(effect.higher, 4U);
  EXPECT_EQ(effect.lower, 1U);
}

TEST(PairedEffect, OfLittleOrNothingHasNoScatter) {
  EXPECT_EQ(paired_effect({}).blocks, 0U);
  EXPECT_EQ(paired_effect(std::vector{0.5}).mean, 0.5);
  EXPECT_EQ(paired_effect(std::vector{0.5}).standard_deviation, 0);
  EXPECT_EQ(t_test_p(paired_effect(std::vector{0.5})), 1);
  EXPECT_EQ(t_test_p(paired_effect(std::vector{0.0, 0.0})), 1);
  EXPECT_EQ(t_test_p(paired_effect(std::vector{0.5, 0.5})), 0);
}

TEST(StudentT, HasTheLimitsOfTheTables) {
  struct Row {
    double error_rate, freedom, limit;
  };
  // Printed in any table of Student's t.
  for (const Row& row : {Row{.05, 1, 12.706}, Row{.05, 2, 4.303}, Row{.05, 5, 2.571}, Row{.05, 10, 2.228},
                         Row{.05, 30, 2.042}, Row{.01, 3, 5.841}, Row{.01, 9, 3.250}, Row{.001, 4, 8.610}})
    EXPECT_NEAR(student_t_limit(row.error_rate, row.freedom), row.limit, 5e-4);
  // One degree of freedom is Cauchy's distribution, two have a closed form.
  EXPECT_NEAR(student_t_limit(1e-4, 1), 1 / std::tan(1e-4 * std::acos(-1.0) / 2), 1e-6);
  const double p = 1e-3;
  EXPECT_NEAR(student_t_limit(p, 2), (1 - p) * std::sqrt(2 / (1 - (1 - p) * (1 - p))), 1e-9);
}

TEST(PairedEffect, ExcludesZeroExactlyWhenItsTestSaysSo) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0.8);
  int excluded = 0;
  for (int draw = 0; draw < 2000; ++draw) {
    std::vector<double> values(2 + random() % 9);
    for (double& value : values) value = normal(random);
    const PairedEffect effect = paired_effect(values);
    const bool excludes = std::abs(effect.mean) > half_width(effect, 0.05);
    EXPECT_EQ(excludes, t_test_p(effect) < 0.05);
    excluded += excludes ? 1 : 0;
  }
  EXPECT_GT(excluded, 200);
  EXPECT_LT(excluded, 1800);
}

class Coverage : public testing::TestWithParam<int> {};

/// Share of 10,000 intervals of 95 % that cover the true effect.
double covered(int blocks, const std::function<double(std::mt19937_64&)>& noise) {
  std::mt19937_64 random(2);
  constexpr int kDraws = 10'000;
  int count = 0;
  std::vector<double> values(static_cast<std::size_t>(blocks));
  for (int draw = 0; draw < kDraws; ++draw) {
    for (double& value : values) value = 0.03 + 0.02 * (noise(random) - noise(random));
    const PairedEffect effect = paired_effect(values);
    count += std::abs(effect.mean - 0.03) <= half_width(effect, 0.05) ? 1 : 0;
  }
  return count / double{kDraws};
}

TEST_P(Coverage, OfNormalNoiseIsAsPromised) {
  const double share = covered(GetParam(), [](auto& random) { return std::normal_distribution<double>()(random); });
  EXPECT_GE(share, 0.94);
  EXPECT_LE(share, 0.96);
}

TEST_P(Coverage, OfOtherNoiseIsHardlyLess) {
  EXPECT_GE(covered(GetParam(), test::heavy_tailed), 0.94);
  EXPECT_GE(covered(GetParam(), test::lopsided), 0.94);
}

INSTANTIATE_TEST_SUITE_P(PairedEffect, Coverage, testing::Values(2, 3, 6, 12));

}  // namespace
}  // namespace millrace
