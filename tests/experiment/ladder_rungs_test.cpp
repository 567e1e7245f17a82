#include "pipeline/experiment/ladder_rungs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "pipeline/memory_plan.h"
#include "tests/support/plan_builder.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

using testing::Collected;
using testing::CollectingSink;
using ::testing::ElementsAre;
using testing::FunctionTransform;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NumberSource;
using testing::PlanBuilder;

class Rungs : public ::testing::Test {
 protected:
  /// read -> the transforms -> write, with what each transform needed in the recorded run.
  void chain(const std::vector<std::pair<std::string, std::int64_t>>& transforms, std::uint64_t budget = 1 << 30) {
    PlanBuilder builder;
    builder.stage("read", 1, {}, [] { return std::make_unique<NumberSource>(10); });
    std::string last = "read";
    for (const auto& [name, busy_ns] : transforms) {
      builder.stage(name, 1, {last}, [] {
        return std::make_unique<FunctionTransform>([](Chunk chunk) { return std::optional(std::move(chunk)); });
      });
      last = name;
    }
    builder.stage("write", 1, {last}, [this] { return std::make_unique<CollectingSink>(collected_); });
    plan_ = builder.build();
    plan_.memory = make_memory_plan(plan_, budget);
    recorded_.stages.clear();
    recordings_.clear();
    for (const StagePlan& stage : plan_.stages) {
      StageReport report;
      report.name = stage.name;
      report.role = stage.role;
      for (const auto& [name, busy_ns] : transforms) {
        if (name == stage.name) report.time.busy_ns = busy_ns;
      }
      recorded_.stages.push_back(report);
      recordings_.push_back(stage.role == Role::sink ? nullptr : std::make_shared<Recording>(1000));
    }
  }
  std::vector<std::string> labels() {
    std::vector<std::string> result;
    for (const PlannedRung& rung : choose_rungs(plan_, recordings_, recorded_, remarks_)) result.push_back(rung.label);
    return result;
  }

  Collected collected_;
  Plan plan_;
  Recordings recordings_;
  RunReport recorded_;
  std::vector<std::string> remarks_;
};

TEST_F(Rungs, OfAChainWithOneTransform) {
  chain({{"work", 100}});
  EXPECT_THAT(labels(),
              ElementsAre("full", "reading free", "compute free", "compute replayed", "writing free", "links x16"));
  EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(Rungs, OfACopyHaveNoCompute) {
  chain({});
  EXPECT_THAT(labels(), ElementsAre("full", "reading free", "writing free", "links x16"));
}

TEST_F(Rungs, TryTheBusiestTransformsAlone) {
  chain({{"light", 10}, {"a", 90}, {"b", 100}, {"c", 70}, {"d", 80}});
  EXPECT_THAT(labels(), ElementsAre("full", "reading free", "compute free", "compute replayed", "'b' free", "'a' free",
                                    "'d' free", "writing free", "links x16"));
}

TEST_F(Rungs, CountDemandPerSlotAndWithoutRunDelay) {
  chain({{"wide", 100}, {"waits", 100}, {"work", 60}});
  recorded_.stages[1].slots = 4;
  recorded_.stages[2].busy.run_delay_ns = 90;
  EXPECT_THAT(labels(), ElementsAre("full", "reading free", "compute free", "compute replayed", "'work' free",
                                    "writing free", "links x16"));
}

TEST_F(Rungs, WithoutRoomAreLeftOutAndNamed) {
  chain({{"work", 100}}, 0);
  recordings_[0]->copy(0, Chunk(heap_lender().lend(5000), DType::u8));  // more than its room
  EXPECT_THAT(labels(), ElementsAre("full", "compute free", "compute replayed", "writing free"));
  ASSERT_EQ(remarks_.size(), 2U);
  EXPECT_THAT(remarks_[0], HasSubstr("reading free is left out: the memory budget has no room to record one chunk"));
  EXPECT_THAT(remarks_[1], HasSubstr("deeper links are left out"));
}

TEST_F(Rungs, PairsFreeTwoAtATime) {
  chain({{"work", 100}});
  const auto pairs = choose_pairs(plan_, recordings_);
  ASSERT_EQ(pairs.size(), 4U);
  EXPECT_EQ(pairs[0].kind, RungKind::full);
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const Ablation& ablation = pairs[i].ablation;
    EXPECT_EQ(ablation.reading + ablation.compute + ablation.writing, 2) << pairs[i].label;
  }
  chain({});
  EXPECT_EQ(choose_pairs(plan_, recordings_).size(), 2U) << "reading and writing are all there is";
}

}  // namespace
}  // namespace millrace
