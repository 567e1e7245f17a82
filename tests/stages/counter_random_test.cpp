#include "stages/counter_random.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace millrace {
namespace {

TEST(CounterRandom, IsTheSameForEver) {
  // Written down once: configs name seeds, and their outputs must not change with a version.
  EXPECT_EQ(counter_random(1, 2, 3), 3042388159972110417ULL);
}

TEST(CounterRandom, EveryArgumentMatters) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t stream = 0; stream < 20; ++stream) {
      for (std::uint64_t counter = 0; counter < 20; ++counter) seen.insert(counter_random(seed, stream, counter));
    }
  }
  EXPECT_EQ(seen.size(), 8000U);
}

TEST(CounterRandom, HalfOfTheBitsChangeWithTheCounter) {
  int changed = 0;
  for (std::uint64_t counter = 0; counter < 1000; ++counter) {
    changed += std::popcount(counter_random(5, 5, counter) ^ counter_random(5, 5, counter + 1));
  }
  EXPECT_NEAR(changed, 32'000, 700);  // 5 sigma
}

TEST(Uniform, LiesInItsInterval) {
  EXPECT_EQ(uniform(0), 0.0);
  EXPECT_LT(uniform(~0ULL), 1.0);
  EXPECT_EQ(uniform(1ULL << 63U), 0.5);
}

}  // namespace
}  // namespace millrace
