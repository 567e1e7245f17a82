#include "stages/normal_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace millrace {
namespace {

TEST(NormalTable, HasTheMomentsOfANormalDistribution) {
  const NormalTable normal;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (std::uint64_t i = 0; i < 65536; ++i) {
    const double x = normal.number(i);
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_EQ(sum, 0);
  EXPECT_NEAR(squares / 65536, 1, 0.001);
  EXPECT_NEAR(fourths / 65536, 3, 0.01);
}

TEST(NormalTable, GivesTheQuantiles) {
  const NormalTable normal;
  EXPECT_NEAR(normal.number(0), 0.0, 0.001);
  EXPECT_NEAR(normal.number(16384), 0.6745, 0.001);
  EXPECT_NEAR(normal.number(32768 + 16384), -0.6745, 0.001);
  EXPECT_NEAR(normal.number(32767), 4.325, 0.01);
}

TEST(NormalTable, LooksAtSixteenBits) {
  const NormalTable normal;
  EXPECT_EQ(normal(0xabcd1234), normal(0x1234));
}

}  // namespace
}  // namespace millrace
