#include "pipeline/experiment/ladder_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/error.h"
#include "pipeline/memory_plan.h"
#include "tests/support/plan_builder.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

using testing::Collected;
using testing::CollectingSink;
using ::testing::Each;
using testing::FunctionTransform;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NumberSource;
using testing::PlanBuilder;
using ::testing::SizeIs;

/// A ladder over read -> work -> write, whose runs take some milliseconds.
class LadderRun : public ::testing::Test {
 protected:
  LadderRun() {
    settings_.make_plan = [this] {
      Plan plan = PlanBuilder()
                      .stage("read", 1, {}, [this] { return std::make_unique<NumberSource>(chunks_); })
                      .stage("work", 1, {"read"}, [this] { return std::make_unique<FunctionTransform>(work_); })
                      .stage("write", 1, {"work"}, [this] { return std::make_unique<CollectingSink>(collected_); })
                      .build();
      plan.memory = make_memory_plan(plan, 1 << 24);
      return plan;
    };
    settings_.on_progress = [this](const std::string& text) { said_.push_back(text); };
    settings_.after_run = [this](const RunReport&) { ++runs_; };
    settings_.repeats = 3;
  }
  const Rung& rung(const Ladder& ladder, RungKind kind) const {
    return *std::find_if(ladder.rungs.begin(), ladder.rungs.end(), [kind](const Rung& r) { return r.kind == kind; });
  }

  std::uint64_t chunks_ = 100;
  FunctionTransform::Function work_ = [](Chunk chunk) { return std::optional(std::move(chunk)); };
  Collected collected_;
  LadderSettings settings_;
  std::vector<std::string> said_;
  int runs_ = 0;
};

TEST_F(LadderRun, RunsEveryRungOnceInEveryBlock) {
  const LadderOutcome outcome = run_ladder(settings_);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_FALSE(outcome.ladder.interrupted);
  EXPECT_EQ(outcome.ladder.rungs.front().kind, RungKind::full);
  const std::size_t blocks = outcome.ladder.rungs.front().rates.size();
  EXPECT_GE(blocks, 3U);
  EXPECT_EQ(outcome.ladder.full_runs, blocks);
  for (const RungKind kind : {RungKind::reading_free, RungKind::compute_free, RungKind::replayed,
                              RungKind::writing_free, RungKind::deeper_links}) {
    const auto& rates = rung(outcome.ladder, kind).rates;
    ASSERT_EQ(rates.size(), blocks);
    for (std::size_t block = 0; block < 3; ++block) EXPECT_GT(rates[block].value_or(0), 0) << name_of(kind);
  }
  EXPECT_EQ(outcome.ladder.unit, "B");
  EXPECT_NE(outcome.ladder.finding.reasons.size(), 0U);
}

TEST_F(LadderRun, TriesPairsWhereNoSingleResourceHelps) {
  const LadderOutcome outcome = run_ladder(settings_);
  const auto pair = std::find_if(outcome.ladder.rungs.begin(), outcome.ladder.rungs.end(),
                                 [](const Rung& r) { return r.kind == RungKind::reading_writing_free; });
  const std::size_t blocks = outcome.ladder.rungs.front().rates.size();
  if (pair == outcome.ladder.rungs.end()) {
    EXPECT_EQ(blocks, 3U) << "one was found";
    return;
  }
  EXPECT_EQ(blocks, 6U);
  EXPECT_FALSE(pair->rates.front()) << "the first blocks had no pairs";
  EXPECT_TRUE(pair->rates.back());
  EXPECT_FALSE(rung(outcome.ladder, RungKind::reading_free).rates.back());
}

TEST_F(LadderRun, ShufflesTheOrderBySeed) {
  const auto order = [this](std::uint64_t seed) {
    said_.clear();
    settings_.seed = seed;
    settings_.repeats = 2;
    run_ladder(settings_);
    std::vector<std::string> result;
    for (const std::string& text : said_) result.push_back(text.substr(text.find(':') + 1));
    result.resize(std::min<std::size_t>(result.size(), 13));  // the recording and two blocks of six
    return result;
  };
  const auto first = order(1);
  EXPECT_EQ(order(1), first);
  EXPECT_NE(order(2), first);
}

TEST_F(LadderRun, ARunThatBeganInTheWrongStateIsLeftOut) {
  int asked = 0;
  settings_.before_run = [&asked] { return ++asked == 3 ? std::string("the input was warm") : std::string(); };
  const LadderOutcome outcome = run_ladder(settings_);
  std::size_t missing = 0;
  for (const Rung& rung : outcome.ladder.rungs) {
    for (std::size_t block = 0; block < 3; ++block)
      missing += rung.kind <= RungKind::deeper_links && !rung.rates[block];
  }
  EXPECT_EQ(missing, 1U);
  ASSERT_FALSE(outcome.ladder.remarks.empty());
  EXPECT_THAT(outcome.ladder.remarks, ::testing::Contains(HasSubstr("is left out: the input was warm")));
  EXPECT_EQ(asked, runs_) << "before every run";
}

TEST_F(LadderRun, AnEmptyInputIsAnError) {
  chunks_ = 0;
  EXPECT_THROW(run_ladder(settings_), Error);
}

TEST_F(LadderRun, AFailureIsSaidWithTheRunItCameIn) {
  work_ = [](Chunk chunk) -> std::optional<Chunk> {
    if (testing::number_in(chunk) == 70) throw Error("cannot be decoded");
    return chunk;
  };
  const LadderOutcome outcome = run_ladder(settings_);
  EXPECT_THAT(outcome.failure, HasSubstr("the recorded run failed: "));
  EXPECT_THAT(outcome.failure, HasSubstr("cannot be decoded"));
  EXPECT_THAT(outcome.failure, HasSubstr("work"));
  EXPECT_EQ(runs_, 1) << "its outputs are looked after all the same";
}

TEST_F(LadderRun, AFailureOfAnyRungEndsTheLadder) {
  settings_.repeats = 2;
  int plans = 0;
  const auto make_plan = settings_.make_plan;
  settings_.make_plan = [&] {
    if (++plans == 5) work_ = [](Chunk) -> std::optional<Chunk> { throw Error("out of paper"); };
    return make_plan();
  };
  const LadderOutcome outcome = run_ladder(settings_);
  // Whichever rung comes first with the real 'work' meets it.
  EXPECT_THAT(outcome.failure, HasSubstr("out of paper"));
  EXPECT_THAT(outcome.failure, HasSubstr("a run of "));
}

TEST_F(LadderRun, EndsWhenTheUserSaysSo) {
  RunControl control;
  settings_.control = &control;
  settings_.on_progress = [&](const std::string& text) {
    if (text.find("run 3 of") != std::string::npos) control.drain();
  };
  const LadderOutcome outcome = run_ladder(settings_);
  EXPECT_TRUE(outcome.ladder.interrupted);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_EQ(runs_, 4) << "recorded, two rungs, and the one under way";
}

TEST_F(LadderRun, EndlessSourcesAreEndedAfterTheTimeOfARun) {
  chunks_ = static_cast<std::uint64_t>(-1);
  settings_.limit_ns = 1;
  settings_.repeats = 1;
  const LadderOutcome outcome = run_ladder(settings_);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_GT(outcome.ladder.rungs.front().rate, 0);
}

}  // namespace
}  // namespace millrace
