#include "pipeline/experiment/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace millrace {
namespace {

using testing::ElementsAre;

TEST(BlockOrder, IsTheSameOnEveryMachine) {
  EXPECT_THAT(block_order(1, 0, 6), ElementsAre(1, 3, 4, 2, 5, 0));
  EXPECT_THAT(block_order(1, 1, 6), ElementsAre(5, 4, 2, 0, 1, 3));
  EXPECT_THAT(block_order(2, 0, 6), ElementsAre(3, 2, 5, 1, 4, 0));
}

TEST(BlockOrder, HasEveryArmOnce) {
  for (std::size_t arms = 0; arms < 20; ++arms) {
    auto order = block_order(7, static_cast<std::uint32_t>(arms), arms);
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> wanted(arms);
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    EXPECT_EQ(order, wanted);
  }
}

TEST(BlockOrder, PutsEveryArmInEveryPlaceEquallyOften) {
  constexpr std::uint32_t kBlocks = 24'000;
  constexpr std::size_t kArms = 4;
  std::map<std::vector<std::size_t>, double> count;
  for (std::uint32_t block = 0; block < kBlocks; ++block) ++count[block_order(3, block, kArms)];
  ASSERT_EQ(count.size(), 24U) << "all orders occur";
  double chi_square = 0;
  for (const auto& [order, times] : count) chi_square += (times - 1000) * (times - 1000) / 1000;
  EXPECT_LT(chi_square, 49.7) << "23 degrees of freedom, p = 0.001";
}

TEST(BlockOrder, DiffersBetweenSeeds) {
  int same = 0;
  for (std::uint32_t block = 0; block < 100; ++block) same += block_order(1, block, 8) == block_order(2, block, 8);
  EXPECT_LE(same, 1);
}

}  // namespace
}  // namespace millrace
