#include "pipeline/experiment/ablation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/complete_report.h"
#include "pipeline/memory_plan.h"
#include "pipeline/run.h"
#include "tests/support/plan_builder.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

using testing::FunctionTransform;
using testing::number_in;
using testing::NumberSource;
using testing::PlanBuilder;

constexpr std::uint64_t kChunks = 200;

/// What a sink was given, chunk by chunk; outlives the runs.
struct Seen {
  std::mutex mutex;
  std::vector<std::string> chunks;
  int abandoned = 0;
  std::function<void()> on_chunk;
};

class SeeingSink final : public Sink {
 public:
  explicit SeeingSink(Seen& seen) : seen_(seen) {}
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk chunk) override {
    const auto bytes = chunk.bytes();
    const std::lock_guard lock(seen_.mutex);
    seen_.chunks.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (seen_.on_chunk) seen_.on_chunk();
  }
  void abandon() noexcept override { ++seen_.abandoned; }

 private:
  Seen& seen_;
};

/// A larger chunk in memory of the output link.
std::optional<Chunk> decode(Chunk chunk) {
  Buffer buffer = loan(16);
  for (std::size_t i = 0; i < 16; ++i) {
    buffer.writable()[i] = static_cast<std::byte>(number_in(chunk) * (i + 1));
  }
  return chunk.with(std::move(buffer), DType::u8);
}

std::optional<Chunk> work_in_place(Chunk chunk) {
  for (auto& byte : chunk.samples<std::uint8_t>()) byte = static_cast<std::uint8_t>(byte * 3 + 1);
  return chunk;
}

/// Keeps every seventh chunk back for itself.
std::optional<Chunk> pick(Chunk chunk) {
  if (chunk.sequence() % 7 == 3) return std::nullopt;
  return chunk;
}

/// One chunk of 16 bytes becomes two of 8; at the end there is one more.
class Halves final : public Transform {
 public:
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    whole_ = std::move(chunk);
    half_ = 0;
    return more();
  }
  bool splits() const override { return true; }
  std::optional<Chunk> more() override {
    if (half_ == 2) return std::nullopt;
    return whole_.with(whole_.buffer().slice(8 * half_++, 8), DType::u8);
  }
  std::optional<Chunk> finish() override {
    if (std::exchange(finished_, true)) return std::nullopt;
    return Chunk(loan(8), DType::u8).with(whole_.buffer().slice(0, 8), DType::u8);
  }

 private:
  Chunk whole_;
  std::size_t half_ = 2;
  bool finished_ = false;
};

auto each(FunctionTransform::Function function) {
  return [function] { return std::make_unique<FunctionTransform>(function); };
}

Plan with_budget(Plan plan, std::uint64_t budget_bytes) {
  plan.memory = make_memory_plan(plan, budget_bytes);
  return plan;
}

/// read -> decode (4 slots, loans) -> scale (in place) -> pick (passes on, or drops) -> halve (splits) -> write
Plan chain(Seen& seen, std::uint64_t chunks = kChunks) {
  return with_budget(PlanBuilder()
                         .stage("read", 1, {}, [chunks] { return std::make_unique<NumberSource>(chunks); })
                         .stage("decode", 4, {"read"}, each(decode))
                         .stage("scale", 1, {"decode"}, each(work_in_place))
                         .stage("pick", 2, {"scale"}, each(pick))
                         .stage("halve", 1, {"pick"}, [] { return std::make_unique<Halves>(); })
                         .stage("write", 1, {"halve"}, [&seen] { return std::make_unique<SeeingSink>(seen); })
                         .build(),
                     1 << 20);
}

Recordings record(Plan plan, std::uint64_t room_bytes = 1 << 20) {
  Recordings recordings = record_stages(plan, room_bytes, monotonic_clock());
  EXPECT_EQ(run(std::move(plan), {}).report.status, "ok");
  for (const auto& recording : recordings) {
    if (recording != nullptr) recording->seal();
  }
  return recordings;
}

RunReport run_ablated(Plan plan, const Recordings& recordings, const Ablation& ablation) {
  ablate(plan, recordings, ablation, monotonic_clock());
  RunReport report = run(std::move(plan), {}).report;
  complete_report(report);
  EXPECT_EQ(report.status, "ok") << report.error;
  return report;
}

Ablation freeing(const std::string& what) {
  Ablation ablation;
  ablation.reading = what.find("reading") != std::string::npos;
  ablation.compute = what.find("compute") != std::string::npos;
  ablation.writing = what.find("writing") != std::string::npos;
  ablation.waits = what.find("waits") != std::string::npos;
  if (what.front() == '\'') ablation.stage = what.substr(1);
  return ablation;
}

class GivesTheBytesOfTheOriginal : public ::testing::TestWithParam<const char*> {};

TEST_P(GivesTheBytesOfTheOriginal, InTheirOrder) {
  Seen original;
  const Recordings recordings = record(chain(original));
  ASSERT_EQ(original.chunks.size(), 2 * (kChunks - kChunks / 7 - 1) + 1);
  Seen ablated;
  run_ablated(chain(ablated), recordings, freeing(GetParam()));
  EXPECT_EQ(ablated.chunks, original.chunks);
}

INSTANTIATE_TEST_SUITE_P(Ablation, GivesTheBytesOfTheOriginal,
                         ::testing::Values("nothing", "reading", "compute", "compute waits", "reading compute",
                                           "'decode", "'scale", "'pick", "'halve"));

TEST(Ablation, AShortRecordingIsPlayedAgainAndAgain) {
  Seen original;
  const Recordings recordings = record(chain(original), 20'000);
  const std::size_t recorded = recordings.front()->size();
  ASSERT_GT(recorded, 2U);
  ASSERT_LT(recorded, kChunks / 2);
  Seen ablated;
  const RunReport report = run_ablated(chain(ablated), recordings, freeing("reading"));
  EXPECT_EQ(report.stages.front().chunks_out, kChunks) << "as many as the source has";
  Seen again;
  run_ablated(chain(again), recordings, freeing("reading compute"));
  EXPECT_EQ(again.chunks.front(), original.chunks.front());
}

TEST(Ablation, RecordingsKeepToTheirRoom) {
  for (const std::uint64_t room : {1'000U, 30'000U, 1'000'000U}) {
    Seen seen;
    std::uint64_t bytes = 0;
    for (const auto& recording : record(chain(seen), room)) bytes += recording == nullptr ? 0 : recording->bytes();
    EXPECT_LE(bytes, room);
    EXPECT_EQ(seen.chunks.size(), 2 * (kChunks - kChunks / 7 - 1) + 1) << "the run itself is the same";
  }
}

TEST(Ablation, RoomForRecordingsIsHalfOfWhatThePlanLeaves) {
  Plan plan;
  plan.memory.budget_bytes = 100;
  plan.memory.total_bytes = 40;
  EXPECT_EQ(recording_room(plan), 30U);
  plan.memory.total_bytes = 100;
  EXPECT_EQ(recording_room(plan), 0U);
}

TEST(Ablation, AStageWithoutRoomForOneChunkIsNamed) {
  Seen seen;
  const Recordings recordings = record(chain(seen), 200);
  const Plan plan = chain(seen);
  EXPECT_EQ(stage_without_recording(plan, recordings, freeing("reading")), "read");
  EXPECT_EQ(stage_without_recording(plan, recordings, freeing("'halve")), "halve");
  EXPECT_EQ(stage_without_recording(plan, recordings, freeing("writing")), "");
}

TEST(Ablation, AnEmptyStreamIsReplayedAsOne) {
  Seen original;
  const Recordings recordings = record(
      with_budget(PlanBuilder()
                      .stage("read", 1, {}, [] { return std::make_unique<NumberSource>(0); })
                      .stage("scale", 1, {"read"}, each(work_in_place))
                      .stage("write", 1, {"scale"}, [&original] { return std::make_unique<SeeingSink>(original); })
                      .build(),
                  1 << 20));
  Seen ablated;
  Plan plan =
      with_budget(PlanBuilder()
                      .stage("read", 1, {}, [] { return std::make_unique<NumberSource>(9); })
                      .stage("scale", 1, {"read"}, each(work_in_place))
                      .stage("write", 1, {"scale"}, [&ablated] { return std::make_unique<SeeingSink>(ablated); })
                      .build(),
                  1 << 20);
  EXPECT_EQ(stage_without_recording(plan, recordings, freeing("reading compute")), "");
  run_ablated(std::move(plan), recordings, freeing("reading compute"));
  EXPECT_TRUE(ablated.chunks.empty());
}

TEST(Ablation, FreedSinksAreAbandonedAndGetNothing) {
  Seen original;
  const Recordings recordings = record(chain(original));
  Seen ablated;
  const RunReport report = run_ablated(chain(ablated), recordings, freeing("writing"));
  EXPECT_TRUE(ablated.chunks.empty());
  EXPECT_EQ(ablated.abandoned, 1);
  EXPECT_EQ(report.stages.back().chunks_in, original.chunks.size());
}

TEST(Ablation, CopiesForWhoeverWorksInPlaceAndElseNothing) {
  // The source's chunks go to 'scale' itself here.
  const auto plan = [](Seen& seen) {
    return with_budget(
        PlanBuilder()
            .stage("read", 1, {}, [] { return std::make_unique<NumberSource>(kChunks); })
            .stage("pass", 1, {"read"}, each([](Chunk chunk) { return std::optional(std::move(chunk)); }))
            .stage("scale", 1, {"pass"}, each(work_in_place))
            .stage("write", 1, {"scale"}, [&seen] { return std::make_unique<SeeingSink>(seen); })
            .build(),
        1 << 20);
  };
  Seen seen;
  const Recordings recordings = record(plan(seen));
  const RunReport behind = run_ablated(plan(seen), recordings, freeing("reading"));
  EXPECT_EQ(behind.stages[0].copied_bytes, 8 * kChunks) << "by the source, so that 'scale' is as it was";
  EXPECT_EQ(behind.stages[2].copied_bytes, 0U);
  const RunReport all = run_ablated(plan(seen), recordings, freeing("reading compute"));
  for (const StageReport& stage : all.stages) EXPECT_EQ(stage.copied_bytes, 0U) << stage.name;
}

TEST(Ablation, FanOutAndFanInAreReplayed) {
  const auto diamond = [](Seen& seen) {
    return with_budget(PlanBuilder()
                           .stage("read", 1, {}, [] { return std::make_unique<NumberSource>(kChunks); })
                           .stage("left", 2, {"read"}, each(work_in_place))
                           .stage("right", 1, {"read"}, each(decode))
                           .stage("both", 2, {"left", "right"}, each(work_in_place))
                           .stage("write", 1, {"both"}, [&seen] { return std::make_unique<SeeingSink>(seen); })
                           .build(),
                       1 << 20);
  };
  Seen original;
  const Recordings recordings = record(diamond(original));
  const auto sorted = [](std::vector<std::string> chunks) {
    std::sort(chunks.begin(), chunks.end());
    return chunks;
  };
  for (const char* const what : {"reading", "compute", "reading compute", "'left"}) {
    Seen ablated;
    run_ablated(diamond(ablated), recordings, freeing(what));
    EXPECT_EQ(sorted(ablated.chunks), sorted(original.chunks)) << what;
  }
}

TEST(Ablation, ReplayedCallsHaveAWorkerForEverySlot) {
  Seen seen;
  const Recordings recordings = record(chain(seen));
  Plan plan = chain(seen);
  ablate(plan, recordings, freeing("compute waits"), monotonic_clock());
  EXPECT_EQ(plan.threads, 8U);
  plan = chain(seen);
  ablate(plan, recordings, freeing("compute"), monotonic_clock());
  EXPECT_EQ(plan.threads, 2U);
}

TEST(Ablation, LinksGetAsDeepAsTheBudgetAllows) {
  Seen seen;
  const Recordings recordings = record(chain(seen));
  Plan plan = chain(seen);
  plan.memory.budget_bytes = 1 << 30;
  EXPECT_EQ(deepest_links(plan, recordings), 16U);
  EXPECT_EQ(plan.links.front().capacity_chunks, 16U) << "it only asks";
  const std::uint64_t used = [&] {
    std::uint64_t sum = 0;
    for (const auto& recording : recordings) sum += recording == nullptr ? 0 : recording->bytes();
    return sum;
  }();
  plan.memory.budget_bytes = used + 5 * plan.memory.total_bytes;
  const std::uint32_t factor = deepest_links(plan, recordings);
  EXPECT_GT(factor, 1U);
  EXPECT_LT(factor, 16U);
  Ablation ablation;
  ablation.deeper_links = factor;
  ablate(plan, recordings, ablation, monotonic_clock());
  EXPECT_EQ(plan.links.front().capacity_chunks, 16U * factor);
  EXPECT_LE(plan.memory.total_bytes + used, plan.memory.budget_bytes);
  plan = chain(seen);
  plan.memory.budget_bytes = used;
  EXPECT_EQ(deepest_links(plan, recordings), 1U);
}

TEST(Ablation, ARecordingThatWasCutShortReplaysWhatItHas) {
  Seen original;
  RunControl control;
  original.on_chunk = [&] {
    if (original.chunks.size() == 40) control.drain();
  };
  Plan plan = chain(original, 100'000'000);
  Recordings recordings = record_stages(plan, 100'000, monotonic_clock());
  RunSettings settings;
  settings.control = &control;
  EXPECT_EQ(run(std::move(plan), settings).report.status, "interrupted");
  for (const auto& recording : recordings) {
    if (recording != nullptr) recording->seal();
  }
  EXPECT_FALSE(recordings.front()->end()) << "the source had more to give";
  Seen ablated;
  const RunReport report = run_ablated(chain(ablated), recordings, freeing("reading compute"));
  EXPECT_EQ(report.stages.front().chunks_out, kChunks);
  EXPECT_EQ(ablated.chunks.front(), original.chunks.front());
}

}  // namespace
}  // namespace millrace
