#include "pipeline/replay/shared_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::int64_t kMs = 1'000'000;

/// Everybody that ends from now on, with its time in ns.
std::vector<std::pair<std::size_t, std::int64_t>> ends(SharedCores& cores) {
  std::vector<std::pair<std::size_t, std::int64_t>> result;
  while (const auto at_ns = cores.next_ns())
    if (const auto who = cores.happen()) result.emplace_back(*who, *at_ns);
  return result;
}

TEST(SharedCores, AloneAThreadHasACoreToItself) {
  SharedCores cores(2);
  EXPECT_EQ(cores.next_ns(), std::nullopt);
  cores.begin(7, 10 * kMs, 50);
  EXPECT_THAT(ends(cores), ElementsAre(Pair(7U, 10 * kMs + 50)));
}

TEST(SharedCores, AsManyThreadsAsCoresDoNotDisturbEachOther) {
  SharedCores cores(2);
  cores.begin(0, 10 * kMs, 0);
  cores.begin(1, 300, 100);
  EXPECT_THAT(ends(cores), ElementsAre(Pair(1U, 400), Pair(0U, 10 * kMs)));
}

TEST(SharedCores, ShortWorkIsDoneInTheOrderInWhichItCame) {
  SharedCores cores(2);
  for (std::size_t who = 0; who < 4; ++who) cores.begin(who, kMs / 2, 0);
  EXPECT_THAT(ends(cores), ElementsAre(Pair(0U, kMs / 2), Pair(1U, kMs / 2), Pair(2U, kMs), Pair(3U, kMs)));
}

TEST(SharedCores, LongWorkTakesTurns) {
  SharedCores cores(1);
  cores.begin(0, 6 * kMs, 0);
  cores.begin(1, 6 * kMs, 0);
  EXPECT_THAT(ends(cores), ElementsAre(Pair(0U, 9 * kMs), Pair(1U, 12 * kMs)));
}

TEST(SharedCores, WhoBeginsTakesTheCoreOfTheOneThatHadMost) {
  SharedCores cores(1);
  cores.begin(0, 10 * kMs, 0);
  cores.begin(1, kMs / 10, 2 * kMs);
  EXPECT_THAT(ends(cores), ElementsAre(Pair(1U, 2 * kMs + kMs / 10), Pair(0U, 10 * kMs + kMs / 10)));
}

TEST(SharedCores, NoWorkIsLostAndNoneIsMade) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 100; ++run) {
    const auto count = static_cast<std::uint32_t>(1 + random() % 4);
    SharedCores cores(count);
    std::int64_t work_ns = 0;
    std::int64_t longest_ns = 0;
    const std::size_t threads = 8 + random() % 20;
    for (std::size_t who = 0; who < threads; ++who) {
      const auto cpu_ns = static_cast<std::int64_t>(1000 + random() % 10'000'000);
      work_ns += cpu_ns;
      longest_ns = std::max(longest_ns, cpu_ns);
      cores.begin(who, cpu_ns, 0);
    }
    const auto all = ends(cores);
    ASSERT_EQ(all.size(), threads);
    // No core is idle while somebody waits for one.
    EXPECT_GE(all.back().second * count, work_ns);
    EXPECT_LE(all.back().second, work_ns / count + longest_ns);
  }
}

}  // namespace
}  // namespace millrace
