#include "pipeline/experiment/sign_flip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace millrace {
namespace {

/// The definition, pattern by pattern.
double by_definition(const std::vector<double>& differences) {
  double seen = 0;
  double magnitude = 0;
  for (const double difference : differences) {
    seen += difference;
    magnitude += std::abs(difference);
  }
  std::uint64_t as_far = 0;
  const std::uint64_t patterns = std::uint64_t{1} << differences.size();
  for (std::uint64_t pattern = 0; pattern < patterns; ++pattern) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i)
      sum += ((pattern >> i) & 1U) != 0 ? -differences[i] : differences[i];
    as_far += std::abs(sum) >= std::abs(seen) - 1e-12 * magnitude ? 1 : 0;
  }
  return static_cast<double>(as_far) / static_cast<double>(patterns);
}

struct KnownCase {
  std::vector<double> differences;
  double p;
};

class SignFlipOf : public testing::TestWithParam<KnownCase> {};

TEST_P(SignFlipOf, IsWhatCountingByHandGives) {
  const SignFlip test = sign_flip(GetParam().differences);
  EXPECT_DOUBLE_EQ(test.p, GetParam().p);
  EXPECT_TRUE(test.exact);
  EXPECT_EQ(test.uncertainty, 0);
}

INSTANTIATE_TEST_SUITE_P(SignFlip, SignFlipOf,
                         testing::Values(KnownCase{{}, 1}, KnownCase{{0.3}, 1}, KnownCase{{-0.3}, 1},
                                         KnownCase{{0, 0, 0}, 1}, KnownCase{{1, 1}, 0.5},  // ++ and --
                                         KnownCase{{1, -1}, 1},                            // the sum is 0
                                         KnownCase{{1, 2, 3}, 0.25},                       // +++ and ---
                                         KnownCase{{-1, 2, 3}, 0.5},                       // 4: also +++
                                         KnownCase{{0.1, 0.2, -0.3}, 1},                   // 0 but for rounding
                                         KnownCase{{0.1, 0.1, 0.1, -0.1}, .625},  // 4 + 1 patterns of 16 in each tail
                                         KnownCase{{5, 0, 0, 7, 0}, 0.5},         // zeros change nothing
                                         KnownCase{{1, 2, 3, 4, 5}, 2.0 / 32},
                                         KnownCase{{-1, -2, -3, -4, -5, -6}, 2.0 / 64}));

TEST(SignFlip, IsTheDefinitionOnRandomDifferences) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0.3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> differences(1 + random() % 13);
    for (double& difference : differences) difference = normal(random);
    EXPECT_DOUBLE_EQ(sign_flip(differences).p, by_definition(differences));
  }
}

TEST(SignFlip, IsTheDefinitionWhenManySumsAreEqual) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> differences(1 + random() % 13);
    for (double& difference : differences) difference = 0.1 * (static_cast<double>(random() % 7) - 2);
    EXPECT_DOUBLE_EQ(sign_flip(differences).p, by_definition(differences));
  }
}

TEST(SignFlip, IsExactWhereThePatternsAreTooManyToTry) {
  // All of one size: the sum is the number of plus signs, so p is a tail of the binomial distribution.
  std::vector<double> differences(40, 0.01);
  for (int i = 0; i < 12; ++i) differences[static_cast<std::size_t>(i) * 3] = -0.01;
  double tail = 0;
  double coefficient = 1;  // 40 over k
  for (int k = 0; k <= 12; ++k) {
    tail += coefficient;
    coefficient *= (40.0 - k) / (k + 1.0);
  }
  const SignFlip test = sign_flip(differences);
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(test.p, 2 * tail / std::ldexp(1, 40), 1e-12);
}

TEST(SignFlip, IsNeverBelowTwoPatternsOfAll) {
  for (const int n : {2, 5, 6, 12, 39}) {
    const std::vector<double> differences(static_cast<std::size_t>(n), 0.4);
    EXPECT_DOUBLE_EQ(sign_flip(differences).p, std::ldexp(1, 1 - n));
  }
}

TEST(SignFlip, DoesNotCareForUnitsOrDirection) {
  const std::vector<double> differences{0.3, -0.1, 0.25, 0.4, 0.05, -0.02, 0.31};
  std::vector<double> turned;
  for (const double difference : differences) turned.push_back(-1e-6 * difference);
  EXPECT_DOUBLE_EQ(sign_flip(differences).p, sign_flip(turned).p);
}

TEST(SignFlip, OfManyBlocksSaysHowFarItsEstimateMayBeOff) {
  std::vector<double> differences(80, 1);
  for (std::size_t i = 0; i < 31; ++i) differences[i] = -1;
  double tail = 0;
  for (int k = 0; k <= 31; ++k) tail += std::exp(std::lgamma(81) - std::lgamma(k + 1) - std::lgamma(81 - k));
  const double truth = 2 * tail / std::ldexp(1, 80);
  const SignFlip test = sign_flip(differences);
  EXPECT_FALSE(test.exact);
  EXPECT_GT(test.uncertainty, 0);
  EXPECT_NEAR(test.p, truth, test.uncertainty);
  EXPECT_EQ(test.p, sign_flip(differences).p);
}

TEST(SignFlip, OfManyBlocksIsNeverZero) { EXPECT_GT(sign_flip(std::vector<double>(200, 0.5)).p, 0); }

TEST(SignFlip, RejectsANoDifferenceAsOftenAsItSays) {
  std::mt19937_64 random(3);
  std::student_t_distribution<double> heavy(2);
  int rejected = 0;
  constexpr int kDraws = 10'000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> differences(8);
    for (double& difference : differences) difference = heavy(random);
    rejected += sign_flip(differences).p <= 12.0 / 256 ? 1 : 0;
  }
  EXPECT_NEAR(rejected / double{kDraws}, 12.0 / 256, 0.007);
}

}  // namespace
}  // namespace millrace
