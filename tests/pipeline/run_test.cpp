#include "pipeline/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tests/support/plan_builder.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

using testing::Collected;
using testing::CollectingSink;
using testing::FunctionTransform;
using testing::Gate;
using testing::number_in;
using testing::NumberSource;
using testing::PlanBuilder;

auto numbers(std::uint64_t count, std::size_t bytes = 8) {
  return [count, bytes] { return std::make_unique<NumberSource>(count, bytes); };
}

auto each(FunctionTransform::Function function) {
  return [function] { return std::make_unique<FunctionTransform>(function); };
}

auto pass() {
  return each([](Chunk chunk) { return std::optional(std::move(chunk)); });
}

auto collect(Collected& collected, std::function<void(const Chunk&)> before = nullptr) {
  return [&collected, before] { return std::make_unique<CollectingSink>(collected, before); };
}

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  return expected;
}

void expect_closed(const RunReport& report) {
  for (const StageReport& stage : report.stages) {
    EXPECT_EQ(stage.time.sum_ns(), report.wall_ns * stage.slots) << stage.name;
    EXPECT_EQ(stage.busy.sum_ns(), stage.time.busy_ns) << stage.name;
  }
  EXPECT_TRUE(report.loss.closes()) << report.loss.read << " read, " << report.loss.written << " written";
}

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Run, CarriesEveryChunkThroughInOrder) {
  Collected collected;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(5000))
                                     .stage("work", 1, {"read"}, pass())
                                     .stage("write", 1, {"work"}, collect(collected))
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.status, "ok");
  EXPECT_EQ(collected.numbers, up_to(5000));
  EXPECT_EQ(collected.sequences, up_to(5000));
  EXPECT_EQ(collected.finished, 1);
  EXPECT_EQ(collected.end, Sink::End::complete);
  EXPECT_EQ(outcome.report.loss.read, 5000U);
  EXPECT_EQ(outcome.report.loss.written, 5000U);
  expect_closed(outcome.report);
}

/// Refuses every chunk whose number is a multiple of three, and says so.
class Refusing final : public Transform {
 public:
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    if (number_in(chunk) % 3 != 0) return chunk;
    ++refused_;
    return std::nullopt;
  }
  bool parallel() const override { return true; }
  Findings findings() const override {
    return {{std::to_string(refused_) + " were odd"}, {{"odd", refused_}, {"never", 0}}};
  }

 private:
  std::uint64_t refused_ = 0;
};

TEST(Run, RefusedChunksCountAsDroppedForTheirReason) {
  for (const bool fan_out : {false, true}) {
    Collected collected;
    Collected beside;
    PlanBuilder builder;
    builder.stage("read", 1, {}, numbers(90))
        .stage("judge", 2, {"read"}, [] { return std::make_unique<Refusing>(); })
        .stage("write", 1, {"judge"}, collect(collected));
    if (fan_out) builder.stage("beside", 1, {"judge"}, collect(beside));
    const RunReport report = run(builder.build(), {}).report;
    EXPECT_EQ(report.status, "ok");
    EXPECT_EQ(collected.numbers.size(), 60U);
    ASSERT_EQ(report.loss.dropped.size(), 1U);
    EXPECT_EQ(report.loss.dropped.front().stage, "judge");
    EXPECT_EQ(report.loss.dropped.front().reason, "odd");
    EXPECT_EQ(report.loss.dropped.front().chunks, 30U);
    EXPECT_EQ(report.loss.written, fan_out ? 120U : 60U);
    expect_closed(report);
    EXPECT_EQ(report.stages[1].findings.size(), 2U) << "a line of each slot";
  }
}

/// Stages that say what they keep in flight.
class DeepSource final : public Source {
 public:
  explicit DeepSource(BufferNeeds needs) : needs_(needs) {}
  ChunkType prepare() override { return {DType::u8, "bytes", 64}; }
  std::optional<Chunk> produce(std::uint64_t /*index*/) override { return std::nullopt; }
  bool parallel() const override { return true; }
  BufferNeeds buffer_needs() const override { return needs_; }

 private:
  BufferNeeds needs_;
};

class DeepSink final : public Sink {
 public:
  explicit DeepSink(BufferNeeds needs) : needs_(needs) {}
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}
  BufferNeeds buffer_needs() const override { return needs_; }

 private:
  BufferNeeds needs_;
};

class LendingPool final : public Pool {
 public:
  Buffer lend(std::size_t bytes) override { return heap_lender().lend(bytes); }
  void take_back(BufferBlock& /*block*/) noexcept override {}  // its blocks are the heap lender's
  std::uint64_t allocations() const override { return 0; }
};

/// What the pools of read -> work -> write are asked to hold.
std::vector<PoolSpec> pools_for(BufferNeeds of_source, BufferNeeds of_sink) {
  std::vector<PoolSpec> specs;
  RunSettings settings;
  settings.make_pool = [&specs](const PoolSpec& spec) {
    specs.push_back(spec);
    return std::make_unique<LendingPool>();
  };
  run(PlanBuilder()
          .stage("read", 2, {}, [of_source] { return std::make_unique<DeepSource>(of_source); })
          .stage("work", 1, {"read"}, pass())
          .stage("write", 1, {"work"}, [of_sink] { return std::make_unique<DeepSink>(of_sink); })
          .build(),
      settings);
  return specs;
}

TEST(Run, PoolsHaveRoomForWhatStagesKeepInFlight) {
  const auto plain = pools_for({}, {});
  ASSERT_EQ(plain.size(), 2U);
  const auto source = pools_for({3, 100}, {});
  EXPECT_EQ(source[0].buffers, plain[0].buffers + 6) << "three for each of two slots";
  EXPECT_EQ(source[0].buffer_bytes, plain[0].buffer_bytes + 100);
  EXPECT_EQ(source[1].buffers, plain[1].buffers);
  EXPECT_EQ(source[1].buffer_bytes, plain[1].buffer_bytes);
  // What works in place passes the source's buffers on, so the sink may keep those of either link.
  const auto sink = pools_for({}, {5, 0});
  EXPECT_EQ(sink[0].buffers, plain[0].buffers + 5);
  EXPECT_EQ(sink[1].buffers, plain[1].buffers + 5);
}

struct Shape {
  std::uint32_t source_slots;
  std::uint32_t slots;
  std::uint64_t capacity;
  std::uint32_t threads;
};

class RunShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(RunShapes, GiveTheSameOutput) {
  const Shape shape = GetParam();
  Collected collected;
  const LinkSpec bounds{shape.capacity, Bytes{1 << 20}, WhenFull::block};
  const RunOutcome outcome =
      run(PlanBuilder()
              .threads(shape.threads)
              .stage("read", shape.source_slots, {}, numbers(1500))
              .stage("odd", shape.slots, {"read"}, each([](Chunk chunk) {
                       return number_in(chunk) % 2 == 1 ? std::optional(std::move(chunk)) : std::nullopt;
                     }),
                     bounds)
              .stage("work", shape.slots, {"odd"}, pass(), bounds)
              .stage("write", 1, {"work"}, collect(collected), bounds)
              .build(),
          {});
  EXPECT_EQ(outcome.report.status, "ok") << outcome.report.error;
  ASSERT_EQ(collected.numbers.size(), 750U);
  for (std::uint64_t i = 0; i < 750; ++i) ASSERT_EQ(collected.numbers[i], 2 * i + 1);
  expect_closed(outcome.report);
}

INSTANTIATE_TEST_SUITE_P(SlotsCapacityThreads, RunShapes,
                         ::testing::Values(Shape{1, 1, 1, 1}, Shape{1, 2, 1, 1}, Shape{1, 4, 1, 4}, Shape{2, 3, 2, 2},
                                           Shape{4, 4, 3, 2}, Shape{1, 4, 64, 4}, Shape{3, 1, 64, 2},
                                           Shape{4, 4, 16, 3}));

TEST(Run, EndsWithoutAnyChunk) {
  Collected collected;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 2, {}, numbers(0))
                                     .stage("work", 2, {"read"}, pass())
                                     .stage("write", 1, {"work"}, collect(collected))
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.status, "ok");
  EXPECT_EQ(collected.finished, 1);
  expect_closed(outcome.report);
}

TEST(Run, LetsOneChunkLargerThanTheByteBoundPass) {
  Collected collected;
  const LinkSpec bounds{4, Bytes{100}, WhenFull::block};
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(20, 4096), bounds)
                                     .stage("work", 2, {"read"}, pass(), bounds)
                                     .stage("write", 1, {"work"}, collect(collected), bounds)
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.status, "ok");
  EXPECT_EQ(collected.numbers, up_to(20));
  EXPECT_EQ(outcome.report.links[0].max_chunks, 1U);
  EXPECT_LE(outcome.report.links[1].max_chunks, 2U) << "two slots may both have fired while the link was empty";
}

TEST(Run, FansOutAndInAndCountsTheCopyOfASharedBuffer) {
  Collected collected;
  const auto increment = each([](Chunk chunk) {
    auto bytes = chunk.samples<std::uint8_t>();
    bytes[0] = static_cast<std::uint8_t>(bytes[0] + 1);
    return std::optional(std::move(chunk));
  });
  const LinkSpec bounds{2, Bytes{1 << 20}, WhenFull::block};
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(100), bounds)
                                     .stage("plain", 1, {"read"}, pass(), bounds)
                                     .stage("plus", 1, {"read"}, increment, bounds)
                                     .stage("write", 1, {"plain", "plus"}, collect(collected), bounds)
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.status, "ok");
  std::vector<std::uint64_t> got = collected.numbers;
  std::sort(got.begin(), got.end());
  std::vector<std::uint64_t> expected = up_to(100);
  for (std::uint64_t i = 0; i < 100; ++i) expected.push_back(i + 1);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(got, expected) << "a branch wrote into the other's buffer";
  // Whoever finds the buffer shared copies it; the other branch may be done with it before.
  EXPECT_LE(outcome.report.stages[2].copied_bytes, 800U);
  EXPECT_EQ(outcome.report.stages[1].copied_bytes, 0U);
  EXPECT_EQ(outcome.report.loss.read, 200U);
  EXPECT_EQ(outcome.report.loss.written, 200U);
  expect_closed(outcome.report);
}

TEST(Run, WorksInPlaceWhenTheBufferIsUnique) {
  Collected collected;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(50))
                                     .stage("zero", 1, {"read"}, each([](Chunk chunk) {
                                              chunk.samples<std::uint8_t>()[0] = 0;
                                              return std::optional(std::move(chunk));
                                            }))
                                     .stage("write", 1, {"zero"}, collect(collected))
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.stages[1].copied_bytes, 0U);
  EXPECT_EQ(outcome.report.memory.bytes_copied_per_byte, 0);
}

class Repeater final : public Transform {
 public:
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    left_ = number_in(chunk) % 4;
    kept_ = chunk;
    return chunk;
  }
  bool splits() const override { return true; }
  bool parallel() const override { return true; }
  std::optional<Chunk> more() override {
    if (left_-- == 0) return std::nullopt;
    return kept_;
  }

 private:
  std::uint64_t left_ = 0;
  Chunk kept_;
};

TEST(Run, SplittersKeepTheOrderAtAnySlots) {
  for (const std::uint64_t capacity : {1, 2, 7}) {
    Collected collected;
    const LinkSpec bounds{capacity, Bytes{1 << 20}, WhenFull::block};
    const RunOutcome outcome = run(PlanBuilder()
                                       .stage("read", 1, {}, numbers(200), bounds)
                                       .stage(
                                           "repeat", 3, {"read"}, [] { return std::make_unique<Repeater>(); }, bounds)
                                       .stage("write", 1, {"repeat"}, collect(collected), bounds)
                                       .build(),
                                   {});
    EXPECT_EQ(outcome.report.status, "ok") << outcome.report.error;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < 200; ++i) expected.insert(expected.end(), i % 4 + 1, i);
    EXPECT_EQ(collected.numbers, expected) << "capacity " << capacity;
    expect_closed(outcome.report);
  }
}

class Pairs final : public Transform {
 public:
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    if (!kept_) {
      kept_ = std::move(chunk);
      return std::nullopt;
    }
    return std::exchange(kept_, std::nullopt);
  }
  std::optional<Chunk> finish() override { return std::exchange(kept_, std::nullopt); }

 private:
  std::optional<Chunk> kept_;
};

TEST(Run, FinishSendsWhatWasHeldBack) {
  Collected collected;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(7))
                                     .stage("pair", 1, {"read"}, [] { return std::make_unique<Pairs>(); })
                                     .stage("write", 1, {"pair"}, collect(collected))
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.status, "ok");
  EXPECT_EQ(collected.numbers, (std::vector<std::uint64_t>{0, 2, 4, 6}));
  EXPECT_EQ(outcome.report.loss.read, 7U);
  EXPECT_TRUE(outcome.report.loss.closes());
}

TEST(Run, DropsAreCountedWithStageAndReason) {
  Collected collected;
  Gate gate;
  const LinkSpec lossy{2, Bytes{1 << 20}, WhenFull::drop_newest};
  // The sink waits with its first chunk until the source has sent all: everything beyond the link's room is dropped.
  const RunOutcome outcome =
      run(PlanBuilder()
              .stage("read", 1, {}, numbers(100))
              .stage("watch", 1, {"read"}, each([&gate](Chunk chunk) {
                       if (number_in(chunk) == 99) gate.open();
                       return std::optional(std::move(chunk));
                     }))
              .stage("write", 1, {"watch"}, collect(collected, [&gate](const Chunk&) { gate.wait(); }), lossy)
              .build(),
          {});
  EXPECT_EQ(outcome.report.status, "ok");
  ASSERT_EQ(outcome.report.loss.dropped.size(), 1U);
  EXPECT_EQ(outcome.report.loss.dropped[0].stage, "write");
  EXPECT_EQ(outcome.report.loss.dropped[0].reason, "drop_newest");
  EXPECT_EQ(outcome.report.loss.dropped[0].chunks + collected.numbers.size(), 100U);
  EXPECT_GE(outcome.report.loss.dropped[0].chunks, 90U);
  expect_closed(outcome.report);
}

enum class Where { source, transform, sink };

class RunFailures : public ::testing::TestWithParam<Where> {};

class ThrowingSource final : public Source {
 public:
  ChunkType prepare() override { return {}; }
  std::optional<Chunk> produce(std::uint64_t index) override {
    if (index == 40) throw Error("the disk is gone").at_path("/data/x").at_offset(4096);
    return NumberSource(1000).produce(index);
  }
};

TEST_P(RunFailures, TheFirstErrorEndsTheRunAndNamesItsStage) {
  const std::size_t threads_before = thread_count();
  Collected collected;
  const bool in_source = GetParam() == Where::source;
  const bool in_transform = GetParam() == Where::transform;
  const bool in_sink = GetParam() == Where::sink;
  PlanBuilder builder;
  if (in_source) {
    builder.stage("read", 1, {}, [] { return std::make_unique<ThrowingSource>(); });
  } else {
    builder.stage("read", 1, {}, numbers(1'000'000));
  }
  builder
      .stage("work", 2, {"read"}, each([in_transform](Chunk chunk) {
               if (in_transform && number_in(chunk) == 40) throw std::runtime_error("does not add up");
               return std::optional(std::move(chunk));
             }))
      .stage("write", 1, {"work"}, collect(collected, [in_sink](const Chunk& chunk) {
               if (in_sink && chunk.sequence() == 40) throw Error("No space left on device").at_path("/out");
             }));
  const RunOutcome outcome = run(builder.build(), {});
  EXPECT_EQ(outcome.report.status, "failed");
  const std::string name = in_source ? "read" : in_transform ? "work" : "write";
  EXPECT_NE(outcome.report.error.find("stage '" + name + "', chunk 40"), std::string::npos) << outcome.report.error;
  EXPECT_TRUE(outcome.stuck.empty());
  EXPECT_EQ(collected.finished, 0);
  EXPECT_EQ(collected.abandoned, 1);
  expect_closed(outcome.report);
  EXPECT_EQ(outcome.report.loss.failed, in_source ? 0U : 1U);
  EXPECT_LE(thread_count(), threads_before + 3) << "TBB keeps its workers, but no thread of the run may stay";
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RunFailures, ::testing::Values(Where::source, Where::transform, Where::sink));

TEST(Run, AnErrorEndsAProducerThatIsParkedOnAFullLink) {
  Collected collected;
  Gate full;
  const LinkSpec tiny{1, Bytes{1 << 20}, WhenFull::block};
  // The sink fails only when the source has filled every link and is parked.
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(1000))
                                     .stage("work", 1, {"read"}, each([&full](Chunk chunk) {
                                              if (number_in(chunk) == 1) full.open();
                                              return std::optional(std::move(chunk));
                                            }),
                                            tiny)
                                     .stage("write", 1, {"work"},
                                            collect(collected,
                                                    [&full](const Chunk&) {
                                                      full.wait();
                                                      throw Error("broken");
                                                    }),
                                            tiny)
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.status, "failed");
  EXPECT_TRUE(outcome.stuck.empty());
  expect_closed(outcome.report);
}

TEST(Run, DrainingDeliversWhatIsInFlight) {
  Collected collected;
  RunControl control;
  RunSettings settings;
  settings.control = &control;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(1ULL << 60U))
                                     .stage("work", 2, {"read"}, each([&control](Chunk chunk) {
                                              if (number_in(chunk) == 1000) control.drain();
                                              return std::optional(std::move(chunk));
                                            }))
                                     .stage("write", 1, {"work"}, collect(collected))
                                     .build(),
                                 settings);
  EXPECT_EQ(outcome.report.status, "interrupted");
  EXPECT_GE(collected.numbers.size(), 1001U);
  EXPECT_EQ(collected.numbers, up_to(collected.numbers.size()));
  EXPECT_EQ(collected.end, Sink::End::interrupted);
  EXPECT_EQ(outcome.report.loss.read, outcome.report.loss.written);
  expect_closed(outcome.report);
}

TEST(Run, StoppingNowDiscardsAndCounts) {
  Collected collected;
  RunControl control;
  RunSettings settings;
  settings.control = &control;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(1ULL << 60U))
                                     .stage("work", 2, {"read"}, pass())
                                     .stage("write", 1, {"work"},
                                            collect(collected,
                                                    [&control](const Chunk& chunk) {
                                                      if (chunk.sequence() == 500) control.stop_now();
                                                    }))
                                     .build(),
                                 settings);
  EXPECT_EQ(outcome.report.status, "interrupted");
  EXPECT_EQ(collected.finished, 0);
  EXPECT_EQ(collected.abandoned, 1);
  expect_closed(outcome.report);
}

TEST(Run, AStopEndsASleepingStageAtOnce) {
  Collected collected;
  RunControl control;
  RunSettings settings;
  settings.control = &control;
  const auto sleep_for_ever = each([&control](Chunk chunk) {
    control.stop_now();
    monotonic_clock().sleep_until(std::numeric_limits<std::int64_t>::max(), call_context().stop);
    return std::optional(std::move(chunk));
  });
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(10))
                                     .stage("sleep", 1, {"read"}, sleep_for_ever)
                                     .stage("write", 1, {"sleep"}, collect(collected))
                                     .build(),
                                 settings);
  EXPECT_EQ(outcome.report.status, "interrupted");
  EXPECT_TRUE(outcome.stuck.empty());
}

TEST(Run, AStageThatHangsIsNamedAndLeftBehind) {
  // What a stuck call may still touch lives as long as the process.
  static Collected collected;
  static Gate gate;
  std::vector<std::string> notices;
  RunSettings settings;
  settings.on_notice = [&notices](const std::string& notice) { notices.push_back(notice); };
  const RunOutcome outcome = run(PlanBuilder()
                                     .stall_timeout(std::chrono::milliseconds(600))
                                     .stage("read", 1, {}, numbers(10))
                                     .stage("hang", 1, {"read"}, each([](Chunk chunk) {
                                              gate.wait();
                                              return std::optional(std::move(chunk));
                                            }))
                                     .stage("write", 1, {"hang"}, collect(collected))
                                     .build(),
                                 settings);
  EXPECT_EQ(outcome.report.status, "stalled");
  EXPECT_EQ(outcome.stuck, std::vector<std::string>{"hang"});
  for (const StageReport& stage : outcome.report.stages) {
    if (stage.name != "hang") continue;
    EXPECT_EQ(stage.busy.sum_ns(), stage.time.busy_ns);
    EXPECT_GT(stage.busy.other_wait_ns, stage.busy.on_cpu_ns) << "nobody knows what a stuck call does";
  }
  EXPECT_NE(outcome.report.error.find("hang: 1 of its slots in a call"), std::string::npos) << outcome.report.error;
  EXPECT_NE(outcome.report.error.find("write: 1 of its slots starved by hang"), std::string::npos);
  EXPECT_EQ(notices.size(), 1U);
  gate.open();
}

TEST(Run, CountsWhatMeasuringCost) {
  Collected collected;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(1000))
                                     .stage("work", 1, {"read"}, pass())
                                     .stage("write", 1, {"work"}, collect(collected))
                                     .build(),
                                 {});
  EXPECT_GT(outcome.report.ledger_cost.ns_per_call, 0);
  EXPECT_GT(outcome.report.ledger_cost.ns_per_cpu_sample, 0);
  EXPECT_GT(outcome.report.ledger_cost.total_ns, 0);
  EXPECT_FALSE(outcome.report.samples.empty());
  EXPECT_EQ(outcome.report.samples.back().stages.size(), 3U);
}

/// Every call waits until as many as there are slots are under way.
class Meeting final : public Transform {
 public:
  explicit Meeting(std::barrier<>& all) : all_(all) {}
  bool parallel() const override { return true; }
  bool waits() const override { return true; }
  std::int64_t child_cpu_ns() const override { return 5; }
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    all_.arrive_and_wait();
    return chunk;
  }

 private:
  std::barrier<>& all_;
};

TEST(Run, ATransformThatWaitsHasAThreadPerSlotAndTakesNoWorker) {
  // With one worker the four calls could never meet, and 'work', which has that worker, would never run beside them.
  constexpr std::uint32_t kSlots = 4;
  std::barrier all(kSlots);
  Collected collected;
  LinkSpec bounds;
  bounds.chunks = kSlots;
  const RunOutcome outcome =
      run(PlanBuilder()
              .threads(1)
              .stage("read", 1, {}, numbers(20 * kSlots))
              .stage(
                  "call", kSlots, {"read"}, [&] { return std::make_unique<Meeting>(all); }, bounds)
              .stage("work", 1, {"call"}, pass(), bounds)
              .stage("write", 1, {"work"}, collect(collected))
              .build(),
          {});
  EXPECT_EQ(outcome.report.status, "ok");
  EXPECT_EQ(collected.numbers, up_to(20 * kSlots));
  expect_closed(outcome.report);
  EXPECT_TRUE(outcome.report.stages[1].own_threads);
  EXPECT_FALSE(outcome.report.stages[1].uses_workers());
  EXPECT_TRUE(outcome.report.stages[2].uses_workers());
  EXPECT_FALSE(outcome.report.stages[0].own_threads);
  EXPECT_EQ(outcome.report.stages[1].child_cpu_ns, 5 * kSlots);
}

/// Gives every chunk three times, and two more at the end.
class WaitingSplitter final : public Transform {
 public:
  bool parallel() const override { return true; }
  bool waits() const override { return true; }
  bool splits() const override { return true; }
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    kept_ = chunk;
    left_ = 2;
    return chunk;
  }
  std::optional<Chunk> more() override { return left_-- > 0 ? std::optional(Chunk(kept_)) : std::nullopt; }
  std::optional<Chunk> finish() override {
    if (finished_++ == 2) return std::nullopt;
    const std::uint64_t number = 1000;
    Buffer buffer = loan(sizeof(number));
    std::memcpy(buffer.writable().data(), &number, sizeof(number));
    return Chunk(std::move(buffer), DType::u8);
  }

 private:
  Chunk kept_;
  int left_ = 0;
  int finished_ = 0;
};

TEST(Run, ATransformThatWaitsMaySplitAndFinishInOrder) {
  for (const std::uint32_t slots : {1U, 3U}) {
    Collected collected;
    LinkSpec shallow;
    shallow.chunks = 2;
    const RunOutcome outcome =
        run(PlanBuilder()
                .stage("read", 1, {}, numbers(300))
                .stage("call", slots, {"read"}, [] { return std::make_unique<WaitingSplitter>(); })
                .stage("write", 1, {"call"}, collect(collected), shallow)
                .build(),
            {});
    EXPECT_EQ(outcome.report.status, "ok");
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < 300; ++i) expected.insert(expected.end(), 3, i);
    expected.insert(expected.end(), 2 * slots, 1000);
    EXPECT_EQ(collected.numbers, expected);
    expect_closed(outcome.report);
  }
}

TEST(Run, AFailureInATransformThatWaitsEndsTheRun) {
  class Failing final : public Transform {
   public:
    bool waits() const override { return true; }
    ChunkType prepare(const ChunkType& input) override { return input; }
    std::optional<Chunk> process(Chunk chunk) override {
      if (number_in(chunk) == 7) throw Error("the seventh is bad");
      return chunk;
    }
  };
  Collected collected;
  const RunOutcome outcome = run(PlanBuilder()
                                     .stage("read", 1, {}, numbers(100))
                                     .stage("call", 1, {"read"}, [] { return std::make_unique<Failing>(); })
                                     .stage("write", 1, {"call"}, collect(collected))
                                     .build(),
                                 {});
  EXPECT_EQ(outcome.report.status, "failed");
  EXPECT_EQ(outcome.report.error, "stage 'call', chunk 7: the seventh is bad");
  EXPECT_EQ(collected.abandoned, 1);
  expect_closed(outcome.report);
}

}  // namespace
}  // namespace millrace
