#include "pipeline/replay/shared_cores.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace millrace {
namespace {

TEST(SharedCores, AloneAThreadHasACoreToItself) {
  SharedCores cores(2);
  EXPECT_EQ(cores.next_end(), std::nullopt);
  cores.begin(7, 1000, 50);
  EXPECT_EQ(cores.next_end(), 1050);
  EXPECT_EQ(cores.end_first(), 7U);
  EXPECT_EQ(cores.next_end(), std::nullopt);
}

TEST(SharedCores, AsManyThreadsAsCoresDoNotDisturbEachOther) {
  SharedCores cores(2);
  cores.begin(0, 1000, 0);
  cores.begin(1, 300, 100);
  EXPECT_EQ(cores.next_end(), 400);
  EXPECT_EQ(cores.end_first(), 1U);
  EXPECT_EQ(cores.next_end(), 1000);
}

TEST(SharedCores, MoreThreadsThanCoresGetEqualParts) {
  SharedCores cores(1);
  cores.begin(0, 1000, 0);
  cores.begin(1, 300, 100);  // 900 are left of the first; both go on at half speed
  EXPECT_EQ(cores.next_end(), 700);
  EXPECT_EQ(cores.end_first(), 1U);
  EXPECT_EQ(cores.next_end(), 1300);  // 600 left, alone again
  EXPECT_EQ(cores.end_first(), 0U);
}

TEST(SharedCores, ThoseThatEndTogetherEndInTheOrderInWhichTheyBegan) {
  SharedCores cores(1);
  for (std::size_t who = 0; who < 4; ++who) cores.begin(who, 500, 0);
  for (std::size_t who = 0; who < 4; ++who) {
    EXPECT_EQ(cores.next_end(), 2000);
    EXPECT_EQ(cores.end_first(), who);
  }
}

TEST(SharedCores, NoWorkIsLostAndNoneIsMade) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 100; ++run) {
    const auto count = static_cast<std::uint32_t>(1 + random() % 4);
    SharedCores cores(count);
    std::int64_t work_ns = 0;
    const std::size_t threads = 8 + random() % 20;
    for (std::size_t who = 0; who < threads; ++who) {
      const auto cpu_ns = static_cast<std::int64_t>(1000 + random() % 100'000);
      work_ns += cpu_ns;
      cores.begin(who, cpu_ns, 0);
    }
    std::int64_t end_ns = 0;
    for (std::size_t i = 0; i < threads; ++i) {
      EXPECT_GE(*cores.next_end(), end_ns);
      end_ns = *cores.next_end();
      cores.end_first();
    }
    EXPECT_GE(end_ns + 1, work_ns / count);
    // At the end fewer threads than cores are left, so the last of them takes longer than the even share.
    EXPECT_LE(end_ns,
              work_ns / count + 101'000 * static_cast<std::int64_t>(count) + static_cast<std::int64_t>(threads));
  }
}

}  // namespace
}  // namespace millrace
