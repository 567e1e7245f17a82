#include "pipeline/experiment/holm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace millrace {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Holm, CorrectsByRankInTheOrderOfTheInput) {
  EXPECT_THAT(holm(std::vector<double>{}), IsEmpty());
  EXPECT_THAT(holm(std::vector{0.03}), ElementsAre(0.03));
  EXPECT_THAT(holm(std::vector{0.04, 0.01, 0.03}), ElementsAre(DoubleEq(0.06), DoubleEq(0.03), DoubleEq(0.06)));
  EXPECT_THAT(holm(std::vector{0.6, 0.5, 0.4}), ElementsAre(1, 1, 1));
  EXPECT_THAT(holm(std::vector{0.02, 0.02}), ElementsAre(0.04, 0.04));
}

/// Holm's procedure as it is defined: go up from the smallest p, stop at the first that is above a / (what is left).
std::vector<bool> rejected_by_definition(const std::vector<double>& p_values, double a) {
  std::vector<std::size_t> order(p_values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto x, auto y) { return p_values[x] < p_values[y]; });
  std::vector<bool> rejected(p_values.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (p_values[order[i]] > a / static_cast<double>(p_values.size() - i)) break;
    rejected[order[i]] = true;
  }
  return rejected;
}

TEST(Holm, RejectsWhatTheProcedureRejects) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> p_values(1 + random() % 8);
    for (double& p : p_values) p = std::pow(uniform(random), 3);
    const auto corrected = holm(p_values);
    const auto rejected = rejected_by_definition(p_values, 0.05);
    for (std::size_t i = 0; i < p_values.size(); ++i) {
      EXPECT_EQ(corrected[i] <= 0.05, rejected[i]);
      EXPECT_GE(corrected[i], p_values[i]);
      EXPECT_LE(corrected[i], 1);
      for (std::size_t j = 0; j < p_values.size(); ++j)
        EXPECT_TRUE(p_values[i] >= p_values[j] || corrected[i] <= corrected[j]);
    }
  }
}

}  // namespace
}  // namespace millrace
