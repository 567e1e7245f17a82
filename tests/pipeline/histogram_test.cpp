#include "pipeline/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace {
namespace {

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.quantile_ns(0.5), 0);
  EXPECT_EQ(histogram.max_ns(), 0);
}

TEST(Histogram, KeepsSmallValuesExactly) {
  Histogram histogram;
  for (int value = 0; value < 32; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile_ns(0.5), 15);
  EXPECT_EQ(histogram.quantile_ns(1.0), 31);
  EXPECT_EQ(histogram.quantile_ns(0.0), 0);
}

TEST(Histogram, TakesNegativeAndHugeValues) {
  Histogram histogram;
  histogram.record(-5);
  histogram.record(std::int64_t{1} << 62);
  histogram.record(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.quantile_ns(0.1), 0);
  EXPECT_EQ(histogram.max_ns(), std::numeric_limits<std::int64_t>::max());
  EXPECT_GE(histogram.quantile_ns(1.0), std::int64_t{1} << 61);
}

TEST(Histogram, QuantilesAreWithinOneBucketOfTheTruth) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> distribution(10, 3);
  Histogram histogram;
  std::vector<std::int64_t> values(20'000);
  for (auto& value : values) {
    value = static_cast<std::int64_t>(distribution(random));
    histogram.record(value);
  }
  std::sort(values.begin(), values.end());
  for (const double fraction : {0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto truth = static_cast<double>(values[static_cast<std::size_t>(fraction * 20'000) - 1]);
    const auto got = static_cast<double>(histogram.quantile_ns(fraction));
    EXPECT_GE(got, truth) << fraction;
    EXPECT_LE(got, truth * 1.033 + 1) << fraction;
  }
}

TEST(Histogram, AddingIsLikeRecordingBoth) {
  Histogram one;
  Histogram two;
  Histogram both;
  for (std::int64_t value = 1; value < 1'000'000; value = value * 5 / 3 + 1) {
    (value % 2 == 0 ? one : two).record(value);
    both.record(value);
  }
  one.add(two);
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.max_ns(), both.max_ns());
  for (const double fraction : {0.01, 0.3, 0.6, 0.95}) EXPECT_EQ(one.quantile_ns(fraction), both.quantile_ns(fraction));
}

}  // namespace
}  // namespace millrace
