#include "stages/signal_level.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/allocation_count.h"

namespace millrace {
namespace {

/// By sorting: what the words say.
double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

SignalLevel by_sorting(const std::vector<std::int16_t>& samples) {
  const double median = median_of({samples.begin(), samples.end()});
  std::vector<double> distances;
  for (const auto sample : samples) distances.push_back(std::abs(sample - median));
  return {median, median_of(distances)};
}

TEST(SignalLevelFinder, GivesWhatSortingGives) {
  std::mt19937_64 random(17);
  SignalLevelFinder finder;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::int16_t> samples(1 + random() % 60);
    const auto spread = static_cast<std::int64_t>(1 + random() % 70'000);
    for (auto& sample : samples) {
      sample = static_cast<std::int16_t>(std::clamp<std::int64_t>(
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread)) - spread / 2, INT16_MIN, INT16_MAX));
    }
    const SignalLevel level = finder.level_of(samples);
    const SignalLevel wanted = by_sorting(samples);
    ASSERT_EQ(level.median, wanted.median) << i;
    ASSERT_EQ(level.mad, wanted.mad) << i;
  }
}

TEST(SignalLevelFinder, TakesTheWholeRangeOfValues) {
  SignalLevelFinder finder;
  const SignalLevel level = finder.level_of(std::vector<std::int16_t>{INT16_MIN, INT16_MAX});
  EXPECT_EQ(level.median, -0.5);
  EXPECT_EQ(level.mad, 32767.5);
}

TEST(SignalLevelFinder, AllocatesNothingPerRead) {
  SignalLevelFinder finder;
  const std::vector<std::int16_t> samples{1, 2, 3, 30'000};
  const auto before = test::allocations_of_this_thread();
  EXPECT_EQ(finder.level_of(samples).median, 2.5);
  EXPECT_EQ(test::allocations_of_this_thread(), before);
  EXPECT_EQ(finder.memory_bytes(), 65536 * sizeof(std::uint32_t));
}

}  // namespace
}  // namespace millrace
