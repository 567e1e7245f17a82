#include "pipeline/flow_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace millrace {
namespace {

constexpr std::uint64_t kPlenty = 1ULL << 40U;

Chunk numbered(std::uint64_t number, std::size_t bytes = 8) {
  Buffer buffer = heap_lender().lend(bytes);
  std::memcpy(buffer.writable().data(), &number, sizeof number);
  return {std::move(buffer), DType::u8};
}

std::uint64_t number_of(const Chunk& chunk) {
  std::uint64_t number = 0;
  std::memcpy(&number, chunk.bytes().data(), sizeof number);
  return number;
}

FlowState::StageShape shape(Role role, std::uint32_t slots, std::vector<std::size_t> in, std::vector<std::size_t> out) {
  FlowState::StageShape result;
  result.role = role;
  result.slots = slots;
  result.inputs = std::move(in);
  result.outputs = std::move(out);
  return result;
}

/// source -> transform -> sink with the given slots of the transform and capacity of both links.
FlowState line(std::uint32_t slots, std::uint64_t capacity, std::uint64_t bytes = kPlenty,
               WhenFull when_full = WhenFull::block) {
  return FlowState(
      {shape(Role::source, 1, {}, {0}), shape(Role::transform, slots, {0}, {1}), shape(Role::sink, 1, {1}, {})},
      {{0, 1, {capacity, bytes, WhenFull::block}, 8}, {1, 2, {capacity, bytes, when_full}, 8}}, 0);
}

Firing* claim(FlowState& flow, std::size_t stage, std::uint32_t most = 1) {
  Firing* const firing =
      flow.claim(stage, flow.shape(stage).role == Role::transform ? FlowState::kAnySlot : 0, most, 0);
  if (firing != nullptr) flow.take_inputs(*firing);
  return firing;
}

void complete(FlowState& flow, Firing& firing, std::vector<Chunk> outputs, bool ended = false) {
  firing.outputs = std::move(outputs);
  firing.ended = ended;
  flow.give_outputs(firing);
  flow.complete(firing, 0);
  flow.settle(0);
}

std::vector<Chunk> chunks(std::initializer_list<std::uint64_t> numbers) {
  std::vector<Chunk> result;
  for (const auto number : numbers) result.push_back(numbered(number));
  return result;
}

TEST(FlowState, OnlyTheSourceCanFireAtFirst) {
  const FlowState flow = line(1, 2);
  EXPECT_TRUE(flow.can_fire(0));
  EXPECT_FALSE(flow.can_fire(1));
  EXPECT_FALSE(flow.can_fire(2));
}

TEST(FlowState, AFullLinkBlocksItsProducerAndNamesTheLink) {
  FlowState flow = line(1, 2);
  for (int i = 0; i < 2; ++i) complete(flow, *claim(flow, 0), chunks({0}));
  EXPECT_EQ(claim(flow, 0), nullptr);
  EXPECT_EQ(flow.ledger().state(0).counts.blocked, 1U);
  EXPECT_EQ(flow.ledger().state(0).full_link, 0U);
  EXPECT_EQ(flow.ledger().state(2).counts.starved, 1U);
  EXPECT_EQ(flow.ledger().state(2).empty_link, 1U);
  ASSERT_NE(claim(flow, 1), nullptr);  // takes one: room again
  EXPECT_TRUE(flow.can_fire(0));
}

TEST(FlowState, TheByteBoundGatesFiringAndLetsALargeChunkPassAlone) {
  FlowState flow = line(1, 16, 20);
  complete(flow, *claim(flow, 0), chunks({0}));
  complete(flow, *claim(flow, 0), chunks({1}));
  complete(flow, *claim(flow, 0), chunks({2}));  // 24 bytes: above the bound by less than a chunk
  EXPECT_FALSE(flow.can_fire(0));
  FlowState large = line(1, 16, 20);
  std::vector<Chunk> one;
  one.push_back(numbered(0, 1000));
  complete(large, *claim(large, 0), std::move(one));
  EXPECT_FALSE(large.can_fire(0));
  EXPECT_TRUE(large.can_fire(1));
}

TEST(FlowState, ABatchStaysBelowTheByteBound) {
  FlowState flow = line(1, 16, 20);
  Firing* const firing = claim(flow, 0, kMaxBatch);
  ASSERT_NE(firing, nullptr);
  EXPECT_EQ(firing->count, 2U);  // 2 x 8 bytes fit below 20
}

TEST(FlowState, CreditsAreReservedBeforeTheCall) {
  FlowState flow = line(2, 1);
  complete(flow, *claim(flow, 0), chunks({0}));
  Firing* const first = claim(flow, 1);
  ASSERT_NE(first, nullptr);
  complete(flow, *claim(flow, 0), chunks({1}));
  // The only credit of the output link is taken by the turn under way, although the link is empty.
  EXPECT_EQ(claim(flow, 1), nullptr);
  EXPECT_EQ(flow.ledger().state(1).counts.blocked, 1U);
  complete(flow, *first, {});  // yields nothing: the credit is free again
  EXPECT_NE(claim(flow, 1), nullptr);
}

TEST(FlowState, AnEarlyTurnWaitsForItsPlaceButFreesItsSlot) {
  FlowState flow = line(2, 4);
  for (std::uint64_t i = 0; i < 4; ++i) complete(flow, *claim(flow, 0), chunks({i}));
  Firing* const first = claim(flow, 1);
  Firing* const second = claim(flow, 1);
  complete(flow, *second, chunks({1}));
  EXPECT_FALSE(flow.can_fire(2)) << "the sink must not see chunk 1 before chunk 0";
  Firing* const third = claim(flow, 1);
  ASSERT_NE(third, nullptr) << "the early turn's slot is free";
  complete(flow, *first, chunks({0}));
  Firing* const sink = claim(flow, 2, kMaxBatch);
  ASSERT_NE(sink, nullptr);
  ASSERT_EQ(sink->count, 2U);
  EXPECT_EQ(number_of(sink->inputs[0]), 0U);
  EXPECT_EQ(number_of(sink->inputs[1]), 1U);
  EXPECT_EQ(sink->inputs[1].sequence(), 1U);
  complete(flow, *third, chunks({2}));
}

TEST(FlowState, ATurnThatYieldsNothingLeavesNoGap) {
  FlowState flow = line(2, 4);
  for (std::uint64_t i = 0; i < 2; ++i) complete(flow, *claim(flow, 0), chunks({i}));
  Firing* const first = claim(flow, 1);
  Firing* const second = claim(flow, 1);
  complete(flow, *second, chunks({1}));
  complete(flow, *first, {});
  Firing* const sink = claim(flow, 2, kMaxBatch);
  ASSERT_NE(sink, nullptr);
  EXPECT_EQ(number_of(sink->inputs[0]), 1U);
  EXPECT_EQ(sink->inputs[0].sequence(), 0U);
}

TEST(FlowState, DropNewestKeepsTheOldestChunksAndCounts) {
  FlowState flow = line(1, 2, kPlenty, WhenFull::drop_newest);
  for (std::uint64_t i = 0; i < 5; ++i) {
    complete(flow, *claim(flow, 0), chunks({i}));
    Firing* const firing = claim(flow, 1);
    ASSERT_NE(firing, nullptr) << "a lossy link never blocks its producer";
    complete(flow, *firing, chunks({i}));
  }
  Firing* const sink = claim(flow, 2, kMaxBatch);
  ASSERT_EQ(sink->count, 2U);
  EXPECT_EQ(number_of(sink->inputs[0]), 0U);
  EXPECT_EQ(number_of(sink->inputs[1]), 1U);
  EXPECT_EQ(flow.link(1).occupancy(0, 0).dropped, 3U);
}

TEST(FlowState, DropOldestKeepsTheNewestChunksAndCounts) {
  FlowState flow = line(1, 2, kPlenty, WhenFull::drop_oldest);
  for (std::uint64_t i = 0; i < 5; ++i) {
    complete(flow, *claim(flow, 0), chunks({i}));
    complete(flow, *claim(flow, 1), chunks({i}));
  }
  Firing* const sink = claim(flow, 2, kMaxBatch);
  ASSERT_EQ(sink->count, 2U);
  EXPECT_EQ(number_of(sink->inputs[0]), 3U);
  EXPECT_EQ(number_of(sink->inputs[1]), 4U);
  EXPECT_EQ(flow.link(1).occupancy(0, 0).dropped, 3U);
}

TEST(FlowState, TheEndRunsThroughFinishOfEverySlot) {
  FlowState flow = line(2, 4);
  complete(flow, *claim(flow, 0), {}, true);
  EXPECT_TRUE(flow.ended(0));
  for (int slot = 0; slot < 2; ++slot) {
    Firing* firing = claim(flow, 1);
    ASSERT_NE(firing, nullptr);
    EXPECT_EQ(firing->kind, Firing::Kind::finish);
    EXPECT_EQ(firing->slot, static_cast<std::uint32_t>(slot));
    complete(flow, *firing, chunks({7}));  // held back: goes out, then it is asked again
    firing = claim(flow, 1);
    ASSERT_NE(firing, nullptr);
    complete(flow, *firing, {}, true);
  }
  EXPECT_TRUE(flow.ended(1));
  EXPECT_EQ(flow.ledger().state(1).counts.done, 2U);
  complete(flow, *claim(flow, 2, kMaxBatch), {});
  Firing* const finish = claim(flow, 2);
  ASSERT_NE(finish, nullptr);
  EXPECT_EQ(finish->kind, Firing::Kind::finish);
  complete(flow, *finish, {}, true);
  EXPECT_TRUE(flow.all_ended());
}

TEST(FlowState, DiscardCountsWhatIsStillOnItsWay) {
  FlowState flow = line(2, 4);
  for (std::uint64_t i = 0; i < 4; ++i) complete(flow, *claim(flow, 0), chunks({i}));
  Firing* const first = claim(flow, 1);
  Firing* const second = claim(flow, 1);
  complete(flow, *second, chunks({1}));  // waits for its place
  flow.abandon(*first, 0, 0);            // whose owner fails
  flow.discard(0);
  EXPECT_EQ(flow.counters(1).processed, 1U);
  EXPECT_EQ(flow.counters(1).failed, 1U);
  EXPECT_EQ(flow.counters(1).discarded, 2U);
  EXPECT_EQ(flow.counters(2).discarded, 1U);
}

// --- random schedules of random graphs -------------------------------------------------------------------------------

/// Plays threads: claims and completes turns in random order until nothing can happen any more.
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed), flow_(make()) {}

  void run() {
    while (!flow_.all_ended()) {
      now_ += static_cast<std::int64_t>(below(20));
      const bool claimed = below(2) == 0 ? try_claim() : false;
      if (claimed) continue;
      if (!running_.empty()) {
        finish_one();
      } else {
        ASSERT_TRUE(try_claim()) << "deadlock: nothing runs and nothing can fire\n" << text();
      }
      check_bounds();
    }
    check_end();
  }

  std::string text() const {
    std::string result;
    for (std::size_t i = 0; i < flow_.stage_count(); ++i) {
      const auto& s = flow_.shape(i);
      result += std::string(name_of(s.role)) + " slots " + std::to_string(s.slots) + (s.splits ? " splits" : "") +
                (s.ordered ? "" : " unordered") + "; ";
    }
    for (std::size_t i = 0; i < flow_.link_count(); ++i) {
      result += "link " + std::to_string(ends_[i].first) + "->" + std::to_string(ends_[i].second) + " waiting " +
                std::to_string(flow_.link(i).waiting()) + "; ";
    }
    return result;
  }

 private:
  struct Running {
    Firing* firing;
    int more_left = 0;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  FlowState make() {
    const std::size_t count = 3 + below(5);
    std::vector<FlowState::StageShape> stages(count);
    std::vector<FlowState::LinkShape> links;
    stages[0].role = Role::source;
    const std::size_t sources = 1 + below(2);
    for (std::size_t i = 0; i < count; ++i) {
      auto& stage = stages[i];
      stage.slots = static_cast<std::uint32_t>(1 + below(4));
      stage.ordered = below(4) != 0;
      stage.role = i < sources ? Role::source : Role::transform;
      if (stage.role == Role::source) continue;
      for (std::uint64_t n = 1 + below(2); n != 0; --n) add_link(stages, links, below(i), i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (stages[i].role == Role::transform && stages[i].outputs.empty()) stages[i].role = Role::sink;
      if (stages[i].role == Role::transform) stages[i].splits = below(3) == 0;
    }
    // A source that nobody reads gets a sink of its own.
    for (std::size_t i = 0; i < sources; ++i) {
      if (!stages[i].outputs.empty()) continue;
      stages.push_back(shape(Role::sink, 1, {}, {}));
      add_link(stages, links, i, stages.size() - 1);
    }
    to_come_.assign(stages.size(), 0);
    for (std::size_t i = 0; i < sources; ++i) to_come_[i] = below(60);
    last_.resize(links.size());
    more_.resize(stages.size());
    return FlowState(std::move(stages), links, 0);
  }

  void add_link(std::vector<FlowState::StageShape>& stages, std::vector<FlowState::LinkShape>& links, std::size_t from,
                std::size_t to) {
    if (stages[from].role == Role::sink) return;
    stages[from].outputs.push_back(links.size());
    stages[to].inputs.push_back(links.size());
    const auto policy = below(8);
    const WhenFull when_full = policy == 0   ? WhenFull::drop_newest
                               : policy == 1 ? WhenFull::drop_oldest
                                             : WhenFull::block;
    capacity_.push_back(1 + below(5));
    links.push_back({from, to, {capacity_.back(), below(3) == 0 ? 1 + below(40) : kPlenty, when_full}, 8});
    ends_.emplace_back(from, to);
  }

  bool try_claim() {
    flow_.settle(now_);
    const std::size_t offset = below(flow_.stage_count());
    for (std::size_t n = 0; n < flow_.stage_count(); ++n) {
      const std::size_t stage = (offset + n) % flow_.stage_count();
      if (!flow_.can_fire(stage)) continue;
      if (claim_at(stage)) return true;
      ADD_FAILURE() << "can_fire() and claim() disagree at stage " << stage << '\n' << text();
    }
    return false;
  }

  bool claim_at(std::size_t stage) {
    const auto& s = flow_.shape(stage);
    for (std::uint32_t slot = 0; slot < s.slots; ++slot) {
      const std::uint32_t wanted = s.role == Role::transform ? FlowState::kAnySlot : slot;
      Firing* const firing = flow_.claim(stage, wanted, static_cast<std::uint32_t>(1 + below(6)), now_);
      if (firing == nullptr) continue;
      flow_.take_inputs(*firing);
      if (firing->kind == Firing::Kind::call) note_order(*firing);
      running_.push_back(firing);
      return true;
    }
    return false;
  }

  void finish_one() {
    const std::size_t at = below(running_.size());
    Firing& firing = *running_[at];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    switch (flow_.shape(firing.stage).role) {
      case Role::source:
        for (std::uint32_t n = 0; n < firing.count && !firing.ended; ++n) {
          if (firing.first_index + n < to_come_[firing.stage]) {
            firing.outputs.push_back(numbered(firing.first_index + n));
          } else {
            firing.ended = true;
          }
        }
        break;
      case Role::transform:
        transform(firing);
        break;
      case Role::sink:
        firing.ended = firing.kind == Firing::Kind::finish;
        break;
    }
    flow_.give_outputs(firing);
    flow_.complete(firing, now_);
    if (below(2) != 0) {
      flow_.settle(now_);
    } else {
      claim_at(firing.stage);  // goes straight on, as a thread does
    }
  }

  void transform(Firing& firing) {
    int& more = more_[firing.stage][firing.slot];
    if (firing.kind == Firing::Kind::call) {
      for (Chunk& chunk : firing.inputs) {
        if (below(4) != 0) firing.outputs.push_back(std::move(chunk));
      }
      more = static_cast<int>(below(4));
    } else if (more > 0) {
      --more;
      firing.outputs.push_back(numbered(1000));
    } else {
      firing.ended = true;
    }
  }

  /// Chunks leave a link in the order of their sequence numbers; without gaps where nothing may be dropped.
  void note_order(const Firing& firing) {
    for (const Chunk& chunk : firing.inputs) {
      auto& last = last_[firing.input_link];
      ASSERT_GE(chunk.sequence(), last) << text();
      if (!flow_.link(firing.input_link).lossy()) {
        ASSERT_EQ(chunk.sequence(), last) << text();
      }
      last = chunk.sequence() + 1;
    }
  }

  void check_bounds() {
    for (std::size_t i = 0; i < flow_.link_count(); ++i) ASSERT_LE(flow_.link(i).waiting(), capacity_[i]) << text();
  }

  void check_end() {
    ASSERT_TRUE(running_.empty());
    std::uint64_t read = 0;
    std::uint64_t accounted = 0;
    for (std::size_t i = 0; i < flow_.stage_count(); ++i) {
      const StateTimes times = flow_.ledger().times(i, now_);
      ASSERT_EQ(times.sum_ns(), now_ * flow_.shape(i).slots);
      ASSERT_EQ(flow_.counters(i).chunks_in, flow_.counters(i).processed);
      read += flow_.counters(i).chunks_out * flow_.shape(i).outputs.size();
      accounted += flow_.counters(i).processed;
    }
    for (std::size_t i = 0; i < flow_.link_count(); ++i) {
      ASSERT_EQ(flow_.link(i).waiting(), 0U);
      accounted += flow_.link(i).occupancy(0, now_).dropped;
    }
    ASSERT_EQ(read, accounted) << "a chunk got lost\n" << text();
  }

  std::mt19937_64 random_;
  std::vector<std::uint64_t> capacity_;
  std::vector<std::pair<std::size_t, std::size_t>> ends_;
  std::vector<std::uint64_t> to_come_;
  std::vector<std::uint64_t> last_;
  std::vector<std::map<std::uint32_t, int>> more_;
  std::vector<Firing*> running_;
  std::int64_t now_ = 0;
  FlowState flow_;
};

TEST(FlowState, RandomSchedulesOfRandomGraphsEndAndLoseNothing) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Simulation simulation(seed);
    simulation.run();
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "seed " << seed << '\n' << simulation.text();
  }
}

}  // namespace
}  // namespace millrace
