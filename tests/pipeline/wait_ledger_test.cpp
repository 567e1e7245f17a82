#include "pipeline/wait_ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace millrace {
namespace {

constexpr std::uint64_t kEndless = 1U << 30U;

struct ClassifyRow {
  std::uint32_t slots;
  std::uint32_t busy;
  std::uint64_t inputs;
  std::uint64_t credits;
  bool ended;
  SlotCounts expected;
};

TEST(Classify, PutsEverySlotInExactlyOneState) {
  const std::array<ClassifyRow, 12> rows{{
      // slots busy inputs credits ended    busy starved blocked ready done
      {1, 1, 0, 0, false, {1, 0, 0, 0, 0}},
      {1, 0, 0, 1, false, {0, 1, 0, 0, 0}},
      {1, 0, 1, 1, false, {0, 0, 0, 1, 0}},
      {1, 0, 1, 0, false, {0, 0, 1, 0, 0}},
      {1, 0, 0, 0, false, {0, 1, 0, 0, 0}},  // starved is said first when both hold
      {1, 0, 0, 0, true, {0, 0, 0, 0, 1}},
      {1, 0, 1, 0, true, {0, 0, 1, 0, 0}},  // the last chunk is still work
      {4, 1, 2, 1, false, {1, 1, 1, 1, 0}},
      {4, 2, 9, 9, false, {2, 0, 0, 2, 0}},
      {4, 1, 1, 9, true, {1, 0, 0, 1, 2}},
      {2, 0, kEndless, 1, false, {0, 0, 1, 1, 0}},  // a source always has input
      {3, 0, 2, kEndless, false, {0, 1, 0, 2, 0}},  // a sink always has room
  }};
  for (const auto& row : rows) {
    const SlotCounts got = classify(row.slots, row.busy, row.inputs, row.credits, row.ended);
    EXPECT_EQ(got, row.expected) << row.slots << ' ' << row.busy << ' ' << row.inputs << ' ' << row.credits;
    EXPECT_EQ(got.busy + got.starved + got.blocked + got.ready + got.done, row.slots);
  }
}

/// source -> transform -> sink, one slot each.
WaitLedger three_in_line() { return WaitLedger({1, 1, 1}, {{0, 1}, {1, 2}}, 0); }

WaitLedger::State busy() { return {{1, 0, 0, 0, 0}, WaitLedger::kNone, WaitLedger::kNone}; }
WaitLedger::State starved(std::size_t link) { return {{0, 1, 0, 0, 0}, link, WaitLedger::kNone}; }
WaitLedger::State blocked(std::size_t link) { return {{0, 0, 1, 0, 0}, WaitLedger::kNone, link}; }
WaitLedger::State ready() { return {{0, 0, 0, 1, 0}, WaitLedger::kNone, WaitLedger::kNone}; }
WaitLedger::State done() { return {{0, 0, 0, 0, 1}, WaitLedger::kNone, WaitLedger::kNone}; }

TEST(WaitLedger, BooksTheTimeBetweenTwoEventsOnTheStateInForce) {
  WaitLedger ledger = three_in_line();
  ledger.set(1, 0, starved(0), 0);
  ledger.set(1, 100, busy(), 0);
  ledger.set(1, 130, blocked(1), 1);
  ledger.set(1, 170, ready(), 1);
  ledger.set(1, 175, done(), 1);
  const StateTimes times = ledger.times(1, 200);
  EXPECT_EQ(times.starved_ns, 100);
  EXPECT_EQ(times.busy_ns, 30);
  EXPECT_EQ(times.blocked_ns, 40);
  EXPECT_EQ(times.ready_ns, 5);
  EXPECT_EQ(times.done_ns, 25);
  EXPECT_EQ(ledger.starved_ns(0, 200), 100);
  EXPECT_EQ(ledger.blocked_ns(1, 200), 40);
  EXPECT_EQ(ledger.blocked_ns(0, 200), 0);
}

TEST(WaitLedger, ReadsInTheMiddleOfAState) {
  WaitLedger ledger = three_in_line();
  ledger.set(1, 10, blocked(1), 0);
  EXPECT_EQ(ledger.times(1, 15).blocked_ns, 5);
  EXPECT_EQ(ledger.blocked_ns(1, 15), 5);
  EXPECT_EQ(ledger.times(1, 25).blocked_ns, 15);
}

TEST(WaitLedger, TakesATimeThatGoesBackAsTheLatestSeen) {
  WaitLedger ledger = three_in_line();
  ledger.set(0, 100, busy(), 0);
  ledger.set(1, 90, busy(), 0);
  EXPECT_EQ(ledger.times(1, 100).starved_ns, 100);
  EXPECT_EQ(ledger.times(1, 100).sum_ns(), 100);
}

TEST(WaitLedger, BlamesTheStageAtTheEndOfTheChain) {
  WaitLedger ledger = three_in_line();
  ledger.set(1, 0, starved(0), 0);
  ledger.set(2, 0, starved(1), 0);
  ledger.set(0, 0, busy(), 0);       // 0 works, 1 and 2 wait for it
  ledger.set(1, 50, busy(), 0);      // now 2 waits for 1
  ledger.set(0, 60, blocked(0), 1);  // and 0 for 1
  EXPECT_EQ(ledger.blame_ns(1, 0, 80), 50);
  EXPECT_EQ(ledger.blame_ns(2, 0, 80), 50);
  EXPECT_EQ(ledger.blame_ns(2, 1, 80), 30);
  EXPECT_EQ(ledger.blame_ns(0, 1, 80), 20);
  EXPECT_EQ(ledger.blame_ns(0, 2, 80), 0);
}

TEST(WaitLedger, FollowsBlockedStagesDownToASlowSink) {
  WaitLedger ledger = three_in_line();
  ledger.set(2, 0, busy(), 0);
  ledger.set(1, 0, blocked(1), 0);
  ledger.set(0, 0, blocked(0), 0);
  EXPECT_EQ(ledger.blame_ns(0, 2, 40), 40);
  EXPECT_EQ(ledger.blame_ns(1, 2, 40), 40);
}

TEST(WaitLedger, BlamesTheWorkersWhenAStageIsReadyAndNobodyComes) {
  WaitLedger ledger = three_in_line();
  ledger.set(1, 0, ready(), 0);
  ledger.set(2, 0, starved(1), 0);
  EXPECT_EQ(ledger.blame_ns(1, WaitLedger::kNone, 30), 30);
  EXPECT_EQ(ledger.blame_ns(2, WaitLedger::kNone, 30), 30);
}

TEST(WaitLedger, KeepsTheLongestStallsWithTheirCause) {
  WaitLedger ledger = three_in_line();
  ledger.set(0, 0, busy(), 0);
  ledger.set(1, 0, busy(), 0);
  ledger.set(2, 0, busy(), 0);
  std::int64_t now = 0;
  for (int i = 1; i <= 20; ++i) {
    ledger.set(2, now, starved(1), 0);
    now += i;
    ledger.set(2, now, busy(), static_cast<std::uint64_t>(i));
    now += 5;
  }
  const auto stalls = ledger.longest_stalls();
  ASSERT_EQ(stalls.size(), WaitLedger::kStallsKept);
  for (std::size_t i = 0; i < stalls.size(); ++i) {
    EXPECT_EQ(stalls[i].length_ns, 20 - static_cast<std::int64_t>(i));
    EXPECT_EQ(stalls[i].chunk, 20 - i);
    EXPECT_EQ(stalls[i].state, 's');
    ASSERT_EQ(stalls[i].cause.size(), 1U);
    EXPECT_EQ(stalls[i].cause[0].stage, 1U);
    EXPECT_EQ(stalls[i].cause[0].state, 'c');
  }
}

/// Random histories over random graphs: the ledger must close to the nanosecond, link by link and cause by cause.
TEST(WaitLedger, HundredThousandRandomHistoriesCloseExactly) {
  std::mt19937_64 random(20261130);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  for (int history = 0; history < 100'000; ++history) {
    const std::size_t stages = 2 + below(4);
    std::vector<std::uint32_t> slots(stages);
    for (auto& count : slots) count = static_cast<std::uint32_t>(1 + below(3));
    std::vector<WaitLedger::LinkEnds> links;
    for (std::size_t i = 0; i + 1 < stages; ++i) links.push_back({i, i + 1});
    const auto start = static_cast<std::int64_t>(below(1000));
    WaitLedger ledger(slots, links, start);
    std::int64_t now = start;
    for (std::uint64_t event = 3 + below(20); event != 0; --event) {
      now += static_cast<std::int64_t>(below(50));
      const std::size_t stage = below(stages);
      const auto busy_slots = static_cast<std::uint32_t>(below(slots[stage] + 1));
      WaitLedger::State state;
      state.counts = classify(slots[stage], busy_slots, below(4), below(4), below(10) == 0);
      if (state.counts.starved != 0 && stage != 0) state.empty_link = stage - 1;
      if (state.counts.blocked != 0 && stage + 1 != stages) state.full_link = stage;
      ledger.set(stage, now, state, 0);
    }
    now += static_cast<std::int64_t>(below(50));
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const StateTimes times = ledger.times(stage, now);
      ASSERT_EQ(times.sum_ns(), (now - start) * slots[stage]) << "history " << history << " stage " << stage;
      std::int64_t blamed = ledger.blame_ns(stage, WaitLedger::kNone, now);
      for (std::size_t cause = 0; cause < stages; ++cause) blamed += ledger.blame_ns(stage, cause, now);
      ASSERT_EQ(blamed, times.starved_ns + times.blocked_ns + times.ready_ns) << "history " << history;
    }
  }
}

}  // namespace
}  // namespace millrace
