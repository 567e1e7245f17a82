#include "pipeline/memory_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/support/plan_builder.h"

namespace millrace {
namespace {

using testing::PlanBuilder;

constexpr std::uint64_t kMiB = 1 << 20;

/// Two reads in flight beside the one that is waited for, each with 4 KiB around it.
class DeepSource final : public Source {
 public:
  ChunkType prepare() override { return {DType::u8, "bytes", kMiB}; }
  std::optional<Chunk> produce(std::uint64_t /*index*/) override { return std::nullopt; }
  bool parallel() const override { return true; }
  BufferNeeds buffer_needs() const override { return {2, 4096}; }
};

/// Three writes in flight and 5 MiB of staging memory.
class DeepSink final : public Sink {
 public:
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}
  std::uint64_t state_bytes() const override { return 5 * kMiB; }
  BufferNeeds buffer_needs() const override { return {3, 0}; }
};

TEST(MemoryPlan, CountsWhatStagesKeepInFlight) {
  const LinkSpec bounds{4, Bytes{64 * kMiB}, WhenFull::block};
  const Plan plan = PlanBuilder()
                        .stage("read", 2, {}, [] { return std::make_unique<DeepSource>(); })
                        .stage(
                            "write", 1, {"read"}, [] { return std::make_unique<DeepSink>(); }, bounds, true, kMiB)
                        .build();
  const MemoryPlan memory = make_memory_plan(plan, 1ULL << 30);
  ASSERT_EQ(memory.lines.size(), 3U);
  EXPECT_EQ(memory.lines[0].what, "link read -> write");
  EXPECT_EQ(memory.lines[0].bytes, 6 * (kMiB + 4096)) << "four in the link, one in the hands of each reader";
  EXPECT_EQ(memory.lines[1].what, "stage read");
  EXPECT_EQ(memory.lines[1].bytes, 2 * 2 * (kMiB + 4096)) << "two slots with two reads in flight";
  EXPECT_EQ(memory.lines[2].what, "stage write");
  EXPECT_EQ(memory.lines[2].arithmetic, "1 slot x (1.00 MiB chunk + 5.00 MiB state + 3 x 1.00 MiB in flight)");
  EXPECT_EQ(memory.lines[2].bytes, 9 * kMiB);
}

}  // namespace
}  // namespace millrace
