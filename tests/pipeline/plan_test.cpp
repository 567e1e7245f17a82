#include "pipeline/plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "pipeline/config.h"
#include "pipeline/memory_plan.h"
#include "tests/pipeline/scripted_stages.h"

namespace millrace {
namespace {

constexpr const char* kChain = R"([pipeline]
name = "chain"
threads = 3
[[stage]]
name = "read"
type = "source"
chunk = "4 MiB"
[[stage]]
name = "work"
type = "transform"
slots = 2
link = { chunks = 8, bytes = "64 MiB" }
state = "1 MiB"
[[stage]]
name = "write"
type = "sink"
path = "out"
link = { chunks = 16, bytes = "20 MiB" }
)";

Plan plan_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return prepare(load_config_text(text, "t.toml", overrides), test::scripted_registry());
}

Error error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    plan_of(text, overrides);
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

TEST(Plan, HasOneInstancePerSlotAndTheTypesOfTheWholeChain) {
  const Plan plan = plan_of(kChain);
  EXPECT_EQ(plan.name, "chain");
  EXPECT_EQ(plan.threads, 3U);
  ASSERT_EQ(plan.stages.size(), 3U);
  EXPECT_EQ(plan.stages[0].role, Role::source);
  EXPECT_EQ(plan.stages[1].role, Role::transform);
  EXPECT_EQ(plan.stages[2].role, Role::sink);
  EXPECT_EQ(plan.stages[1].slots(), 2U);
  ASSERT_EQ(plan.links.size(), 2U);
  EXPECT_EQ(plan.links[0].from, 0U);
  EXPECT_EQ(plan.links[0].to, 1U);
  EXPECT_EQ(plan.links[0].type.text(), "i16 signal, up to 4.00 MiB");
  EXPECT_EQ(plan.links[1].type.text(), "f32 signal, up to 8.00 MiB");
  EXPECT_EQ(plan.links[0].capacity_chunks, 8U);
  EXPECT_EQ(plan.links[1].capacity_bytes, 20ULL << 20);
  EXPECT_EQ(plan.stages[0].outputs, std::vector<std::size_t>{0});
  EXPECT_EQ(plan.stages[1].inputs, std::vector<std::size_t>{0});
  EXPECT_EQ(plan.stages[1].outputs, std::vector<std::size_t>{1});
}

TEST(Plan, ResolvesThreadsToTheCoresOfThisProcess) {
  EXPECT_EQ(plan_of(kChain, {"pipeline.threads=0"}).threads, usable_cores());
  EXPECT_GE(usable_cores(), 1U);
}

TEST(Plan, OrdersStagesSoThatLinksGoForward) {
  const Plan plan = plan_of(R"([[stage]]
name = "write"
type = "sink"
path = "x"
from = ["right", "left"]
[[stage]]
name = "left"
type = "transform"
from = "read"
[[stage]]
name = "read"
type = "source"
[[stage]]
name = "right"
type = "transform"
)");
  std::vector<std::string> names;
  for (const auto& stage : plan.stages) names.push_back(stage.name);
  EXPECT_EQ(names, (std::vector<std::string>{"read", "left", "right", "write"}));
  for (const auto& link : plan.links) EXPECT_LT(link.from, link.to);
  ASSERT_EQ(plan.stages[3].inputs.size(), 2U);
  EXPECT_EQ(plan.stages[plan.links[plan.stages[3].inputs[0]].from].name, "right") << "order of `from`";
  EXPECT_EQ(plan.stages[plan.links[plan.stages[3].inputs[1]].from].name, "left");
  EXPECT_EQ(plan.stages[0].outputs.size(), 2U);
}

TEST(Plan, TakesTheLargestChunkOfMergedStreams) {
  const Plan plan = plan_of(R"([[stage]]
name = "a"
type = "source"
chunk = "1 MiB"
[[stage]]
name = "b"
type = "source"
chunk = "2 MiB"
[[stage]]
name = "work"
type = "transform"
from = ["a", "b"]
[[stage]]
name = "write"
type = "sink"
path = "x"
)");
  EXPECT_EQ(plan.links.back().type.max_bytes, 4ULL << 20);
}

TEST(Plan, CountsMemoryLineByLine) {
  const MemoryPlan memory = plan_of(kChain).memory;
  ASSERT_EQ(memory.lines.size(), 5U);
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(memory.lines[0].what, "link read -> work");
  EXPECT_EQ(memory.lines[0].arithmetic, "min(64.0 MiB, 8 x 4.00 MiB) + 1 slot x 4.00 MiB");
  EXPECT_EQ(memory.lines[0].bytes, 36 * kMiB);
  EXPECT_EQ(memory.lines[1].what, "link work -> write");
  EXPECT_EQ(memory.lines[1].arithmetic, "min(20.0 MiB, 16 x 8.00 MiB) + 2 slots x 8.00 MiB");
  EXPECT_EQ(memory.lines[1].bytes, 36 * kMiB);
  EXPECT_EQ(memory.lines[2].bytes, 0U) << "a source holds the chunk that its link counts";
  EXPECT_EQ(memory.lines[3].what, "stage work");
  EXPECT_EQ(memory.lines[3].arithmetic, "2 slots x (4.00 MiB chunk + 1.00 MiB state)");
  EXPECT_EQ(memory.lines[3].bytes, 10 * kMiB);
  EXPECT_EQ(memory.lines[4].bytes, 8 * kMiB);
  EXPECT_EQ(memory.total_bytes, 90 * kMiB);
  EXPECT_EQ(memory.budget_bytes, 2048 * kMiB);
}

TEST(Plan, CountsAChunkLargerThanTheBoundThatPassesAlone) {
  const MemoryPlan memory = plan_of(kChain, {"work.link.bytes=1 MiB"}).memory;
  EXPECT_EQ(memory.lines[0].bytes, 5ULL << 20);
}

TEST(Plan, DoesNotWrapAroundWithAbsurdSizes) {
  PipelineSpec spec = load_config_text(kChain, "t.toml", {"read.chunk=4000000 TiB", "write.link.bytes=8000000 TiB"});
  const Plan plan = prepare_without_budget(spec, test::scripted_registry());
  EXPECT_EQ(plan.memory.total_bytes, std::numeric_limits<std::uint64_t>::max());
}

TEST(Plan, IsRefusedAboveTheBudgetWithTheSumAndWhatToLower) {
  const Error error = error_of(kChain, {"pipeline.memory=64 MiB"});
  EXPECT_EQ(error.kind(), ErrorKind::config);
  EXPECT_STREQ(error.what(),
               "<--set pipeline.memory=64 MiB>:1:1: the plan needs 90.0 MiB, the budget 'memory' is 64.0 MiB; the "
               "largest part is link read -> work with min(64.0 MiB, 8 x 4.00 MiB) + 1 slot x 4.00 MiB = 36.0 MiB; "
               "lower 'link' of 'work' (chunks or bytes), or raise 'memory'");
}

TEST(Plan, SaysWhatToLowerWhenAStageIsTheLargestPart) {
  const std::string error = error_of(kChain, {"work.state=2 GiB"}).what();
  EXPECT_NE(error.find("t.toml:1:1: the plan needs 4.0"), std::string::npos) << error;
  EXPECT_NE(error.find("lower 'slots' of 'work' or its chunks"), std::string::npos) << error;
}

struct Refusal {
  const char* what;
  std::vector<std::string> overrides;
  std::string error;
  ErrorKind kind = ErrorKind::config;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.what; }

class PlanRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(PlanRefuses, WithStageAndPosition) {
  const Error error = error_of(kChain, GetParam().overrides);
  EXPECT_EQ(std::string(error.what()), GetParam().error);
  EXPECT_EQ(error.kind(), GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PlanRefuses,
    testing::Values(
        Refusal{"misspelt option",
                {"work.levl=3"},
                "<--set work.levl=3>:1:1: stage 'work': 'transform' has no option 'levl'; did you mean 'level'?"},
        Refusal{"misspelt reserved key",
                {"work.slot=3"},
                "<--set work.slot=3>:1:1: stage 'work': 'transform' has no option 'slot'; did you mean 'slots'?"},
        Refusal{"far-off option",
                {"work.colour=3"},
                "<--set work.colour=3>:1:1: stage 'work': 'transform' has no option 'colour'; it has: level state "
                "via.transport"},
        Refusal{
            "misspelt option in a table",
            {"work.via.transprot=x"},
            "<--set work.via.transprot=x>:1:1: stage 'work': 'transform' has no option 'via.transprot'; did you mean "
            "'via.transport'?"},
        Refusal{"table that the stage does not know",
                {"read.via.transport=x"},
                "<--set read.via.transport=x>:1:1: stage 'read': 'source' has no option 'via'; it has: chunk content "
                "parallel fail"},
        Refusal{"option that other settings would use",
                {"write.only_with_a_table=true"},
                "<--set write.only_with_a_table=true>:1:1: stage 'write': 'sink' has no option 'only_with_a_table'; it "
                "has: path wants"},
        Refusal{"value of the wrong type",
                {"work.level=high"},
                "<--set work.level=high>:1:1: stage 'work': 'level' must be an integer, not text"},
        Refusal{"value that the stage refuses",
                {"work.level=23"},
                "<--set work.level=23>:1:1: stage 'work': 'level' must be at most 22"},
        Refusal{
            "slots of a stage that is not parallel",
            {"read.slots=2"},
            "<--set read.slots=2>:1:1: stage 'read': 'source' handles its chunks one after the other, so 'slots' must "
            "be 1"},
        Refusal{"chunks without a bound",
                {"read.chunk=0 B"},
                "t.toml:4:1: stage 'read': its chunks have no upper bound in bytes, so the memory of the run cannot be "
                "planned"},
        Refusal{"content that the next stage refuses",
                {"read.content=events"},
                "t.toml:8:1: stage 'work': needs 'signal' chunks, but its input is i16 events, up to 4.00 MiB"},
        Refusal{"dtype that the sink refuses",
                {"write.wants=u8"},
                "t.toml:14:1: stage 'write': needs u8 elements, but its input is f32 signal, up to 8.00 MiB"},
        Refusal{"file that cannot be used",
                {"read.fail=run"},
                "stage 'read', /data/in.raw: cannot open: No such file or directory",
                ErrorKind::run},
        Refusal{"exception of another kind",
                {"read.fail=other"},
                "stage 'read': cannot be prepared: something else",
                ErrorKind::run}));

TEST(Plan, NamesTheMisspeltKeyRatherThanTheOneItLeavesMissing) {
  EXPECT_STREQ(
      error_of("[[stage]]\nname=\"a\"\ntype=\"source\"\n[[stage]]\nname=\"z\"\ntype=\"sink\"\npth=\"x\"\n").what(),
      "t.toml:7:1: stage 'z': 'sink' has no option 'pth'; did you mean 'path'?");
}

TEST(Plan, SaysWhichOptionIsMissing) {
  EXPECT_STREQ(error_of("[[stage]]\nname=\"a\"\ntype=\"source\"\n[[stage]]\nname=\"z\"\ntype=\"sink\"\n").what(),
               "t.toml:4:1: stage 'z': 'path' is required");
}

TEST(Plan, RefusesToMergeStreamsOfTwoTypes) {
  const Error error = error_of(R"([[stage]]
name = "a"
type = "source"
[[stage]]
name = "b"
type = "source"
content = "events"
[[stage]]
name = "write"
type = "sink"
path = "x"
from = ["a", "b"]
)");
  EXPECT_STREQ(error.what(),
               "t.toml:12:14: stage 'write': it merges streams of two types: i16 signal, up to 1.00 MiB from 'a', i16 "
               "events, up to 1.00 MiB from 'b'");
}

}  // namespace
}  // namespace millrace
