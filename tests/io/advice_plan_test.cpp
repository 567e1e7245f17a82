#include "io/advice_plan.h"

#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace millrace::io {

bool operator==(const Extent& a, const Extent& b) { return a.offset == b.offset && a.length == b.length; }
void PrintTo(const Extent& extent, std::ostream* out) { *out << extent.offset << "+" << extent.length; }

namespace {

using Extents = std::vector<Extent>;

Extents due(AdvicePlan& plan) {
  Extents steps;
  while (const auto step = plan.next()) steps.push_back(*step);
  return steps;
}

struct Row {
  std::string what;
  std::uint64_t window;
  std::uint64_t step;
  Extents announced;
  Extents steps;  ///< due before anything is read
};

// Pages of 10 bytes, for the eye.
TEST(AdvicePlan, CutsWhatIsAnnouncedIntoStepsOfWholePages) {
  const std::vector<Row> rows{
      {"one extent, whole steps", 100, 20, {{0, 60}}, {{0, 20}, {20, 20}, {40, 20}}},
      {"a shorter last step, nothing else is under way", 100, 20, {{0, 30}}, {{0, 20}, {20, 10}}},
      {"the window ends it", 40, 20, {{0, 100}}, {{0, 20}, {20, 20}}},
      {"no step that would reach beyond the window", 50, 20, {{0, 100}}, {{0, 20}, {20, 20}}},
      {"a step larger than the window is as large as the window", 40, 1000, {{0, 100}}, {{0, 40}}},
      {"edges inside pages", 100, 50, {{13, 14}}, {{10, 20}}},
      {"sizes that are no whole pages are rounded up", 95, 11, {{0, 40}}, {{0, 20}, {20, 20}}},
      {"neighbours share a page, and a step", 100, 50, {{0, 25}, {25, 25}}, {{0, 50}}},
      {"small neighbours share a step", 100, 30, {{0, 10}, {10, 10}, {20, 10}, {30, 10}}, {{0, 30}, {30, 10}}},
      {"a gap ends a step", 100, 50, {{0, 10}, {40, 20}}, {{0, 10}, {40, 20}}},
      {"a gap within a page does not", 100, 50, {{0, 12}, {18, 12}}, {{0, 30}}},
      {"backwards", 100, 50, {{60, 20}, {0, 20}}, {{60, 20}, {0, 20}}},
      {"twice the same", 100, 50, {{0, 20}, {0, 20}}, {{0, 20}}},
      {"an extent inside the one before", 100, 50, {{0, 40}, {10, 10}, {40, 10}}, {{0, 50}}},
      {"an empty extent", 100, 50, {{30, 0}, {0, 20}}, {{0, 20}}},
      {"beyond all numbers", 100, 50, {{~0ULL, ~0ULL}, {0, 10}}, {{0, 10}}},
  };
  for (const auto& row : rows) {
    AdvicePlan plan(row.window, row.step, 10);
    for (const Extent extent : row.announced) plan.announce(extent);
    EXPECT_EQ(due(plan), row.steps) << row.what;
  }
}

TEST(AdvicePlan, MovesItsWindowWithTheReader) {
  AdvicePlan plan(40, 20, 10);
  for (std::uint64_t i = 0; i < 5; ++i) plan.announce({i * 20, 20});
  EXPECT_EQ(due(plan), (Extents{{0, 20}, {20, 20}}));
  plan.reach({0, 20});
  EXPECT_EQ(due(plan), (Extents{{40, 20}}));
  plan.reach({20, 20});
  EXPECT_EQ(due(plan), (Extents{{60, 20}}));
  plan.reach({20, 20});
  EXPECT_EQ(due(plan), Extents{}) << "no longer announced";
  plan.reach({60, 20});
  EXPECT_EQ(due(plan), (Extents{{80, 20}})) << "an extent was left out";
}

TEST(AdvicePlan, LeavesOutWhatBeginsBeforeItsTurn) {
  AdvicePlan plan(40, 20, 10);
  for (std::uint64_t i = 0; i < 6; ++i) plan.announce({i * 20, 20});
  plan.begin({20, 20});  // two transfers are in flight
  EXPECT_EQ(due(plan), Extents{}) << "they fill the window, which begins at the reader";
  plan.reach({0, 20});
  EXPECT_EQ(due(plan), (Extents{{40, 20}}));
  plan.begin({70, 1});
  EXPECT_EQ(due(plan), Extents{}) << "not announced";
}

TEST(AdvicePlan, AShortStepWaitsForMoreWhileEnoughIsUnderWay) {
  AdvicePlan plan(80, 40, 10);
  plan.announce({0, 50});
  EXPECT_EQ(due(plan), (Extents{{0, 40}}));
  plan.announce({50, 30});
  EXPECT_EQ(due(plan), (Extents{{40, 40}}));
  plan.announce({80, 10});
  plan.reach({0, 50});
  EXPECT_EQ(due(plan), (Extents{{80, 10}})) << "less than half of the window is under way";
}

TEST(AdvicePlan, AsksForEveryPageOfAStreamOnceAndNeverBeyondTheWindow) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t window = 10 * (1 + random() % 40);
    AdvicePlan plan(window, 10 * (1 + random() % 20), 10);
    std::vector<Extent> extents;
    std::uint64_t at = 0;
    for (int i = 0; i < 60; ++i) {
      at += random() % 3 == 0 ? random() % 50 : 0;
      extents.push_back({at, 1 + random() % 90});
      at += extents.back().length;
    }
    std::vector<int> asked(at / 10 + 1, 0);
    std::size_t announced = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      for (; announced < extents.size() && announced < i + 20; ++announced) plan.announce(extents[announced]);
      plan.reach(extents[i]);
      const std::uint64_t reader = extents[i].offset + extents[i].length;
      for (const Extent step : due(plan)) {
        EXPECT_EQ(step.offset % 10 + step.length % 10, 0U);
        EXPECT_GE(step.offset + 10, reader) << "advice for what is read already";
        std::uint64_t ahead = 0;  // pages asked for in front of the reader
        for (std::uint64_t page = step.offset / 10; page < (step.offset + step.length) / 10; ++page) ++asked[page];
        for (std::uint64_t page = (reader + 9) / 10; page < asked.size(); ++page) ahead += 10U * (asked[page] > 0);
        EXPECT_LE(ahead, window);
      }
    }
    for (const int times : asked) EXPECT_LE(times, 1);
  }
}

}  // namespace
}  // namespace millrace::io
