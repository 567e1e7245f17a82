#include "pipeline/replay/replay.h"
#include "pipeline/replay/shared_cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "pipeline/core/error.h"
#include "pipeline/verdict.h"
#include "tests/replay/run_builder.h"

namespace millrace {
namespace {

using test::kMs;
using test::RunBuilder;
using Service = RunBuilder::Service;

/// Services drawn once, so that the recurrence and the replay see the same.
std::vector<std::int64_t> drawn(std::mt19937_64& random, std::size_t chunks, double mean_ns) {
  std::vector<std::int64_t> services;
  std::exponential_distribution<double> draw(1 / mean_ns);
  for (std::size_t k = 0; k < chunks; ++k) services.push_back(10'000 + std::llround(draw(random)));
  return services;
}

Service from(const std::vector<std::int64_t>& services) {
  return [services](std::size_t k) { return RecordedCall{0, services[k], 0, 0, false, -1}; };
}

/// Chunk k starts in stage i when it has come from i-1, chunk k-1 has left i, and chunk k - capacity was started by
/// i+1: the closed recurrence of a chain of single slots with credits reserved before the call.
std::int64_t wall_of_chain(const std::vector<std::vector<std::int64_t>>& services, std::size_t capacity) {
  const std::size_t stages = services.size();
  const std::size_t chunks = services.front().size();
  std::vector<std::vector<std::int64_t>> start(stages, std::vector<std::int64_t>(chunks));
  std::vector<std::vector<std::int64_t>> end = start;
  for (std::size_t k = 0; k < chunks; ++k) {
    for (std::size_t i = 0; i < stages; ++i) {
      const std::int64_t free = k == 0 ? 0 : end[i][k - 1];
      const std::int64_t arrived = i == 0 ? 0 : end[i - 1][k];
      const std::int64_t room = i + 1 < stages && k >= capacity ? start[i + 1][k - capacity] : 0;
      start[i][k] = std::max({free, arrived, room});
      end[i][k] = start[i][k] + services[i][k];
    }
  }
  return end[stages - 1][chunks - 1];
}

double slot_time_error(const RunReport& report) {
  double worst = 0;
  for (const StageReport& stage : report.stages) {
    const double slot_ns = static_cast<double>(report.wall_ns) * stage.slots;
    worst = std::max(worst, std::abs(static_cast<double>(stage.time.sum_ns()) - slot_ns));
    EXPECT_EQ(stage.busy.sum_ns(), stage.time.busy_ns) << stage.name;
  }
  return worst;
}

TEST(Replay, AgreesToTheNanosecondWithTheRecurrenceOfAChain) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 50; ++run) {
    const std::size_t stages = 2 + random() % 5;
    const std::size_t capacity = 1 + random() % 8;
    std::vector<std::vector<std::int64_t>> services;
    std::vector<Service> calls;
    for (std::size_t i = 0; i < stages; ++i) {
      services.push_back(drawn(random, 200, 1e5 + static_cast<double>(random() % 1'000'000)));
      calls.push_back(from(services.back()));
    }
    const RunReport report = replay(RunBuilder::chain(200, capacity, calls).run());
    EXPECT_EQ(report.wall_ns, wall_of_chain(services, capacity)) << run;
    EXPECT_EQ(report.stages.back().chunks_in, 200U);
  }
}

TEST(Replay, TwoExponentialStationsHaveTheThroughputOfTheirBirthAndDeathProcess) {
  // Equal rates and room for B chunks between them: B + 2 states, all equally likely, and the last station idles in
  // one of them.
  std::mt19937_64 random(2);
  for (const std::uint64_t room : {1U, 3U, 8U}) {
    const std::size_t chunks = 60'000;
    std::exponential_distribution<double> draw(1e-6);
    const auto service = [&](std::size_t) { return RecordedCall{0, 0, 10 + std::llround(draw(random)), 0, false, -1}; };
    const RunReport report = replay(RunBuilder::chain(chunks, room, {service, service}).run());
    const double throughput = static_cast<double>(chunks) / (static_cast<double>(report.wall_ns) / 1e6);
    const auto b = static_cast<double>(room);
    EXPECT_NEAR(throughput, (b + 1) / (b + 2), 0.01) << room;
  }
}

TEST(Replay, SlotsThatWaitWorkSideBySide) {
  for (const std::uint32_t slots : {1U, 2U, 4U}) {
    RunBuilder builder;
    builder.stage(Role::source, 100, RunBuilder::waits(10'000));
    builder.stage(Role::transform, 100, RunBuilder::waits(8 * kMs), slots);
    builder.stage(Role::sink, 100, RunBuilder::waits(10'000));
    builder.link(0, 1, 16).link(1, 2, 16);
    const auto ideal = static_cast<double>(100 * 8 * kMs / slots);
    EXPECT_NEAR(static_cast<double>(replay(builder.run()).wall_ns), ideal, .01 * ideal) << slots;
  }
}

TEST(Replay, SlotsThatComputeShareTheCores) {
  RunBuilder builder;
  builder.stage(Role::source, 100, RunBuilder::waits(10'000));
  builder.stage(Role::transform, 100, RunBuilder::computes(8 * kMs), 4);
  builder.stage(Role::sink, 100, RunBuilder::waits(10'000));
  builder.link(0, 1, 16).link(1, 2, 16);
  builder.run().cores = 2;
  const RunReport report = replay(builder.run());
  EXPECT_NEAR(static_cast<double>(report.wall_ns), 400e6, 4e6);
  // Four want two cores: half of the time in calls is spent waiting for one.
  const BusySplit& busy = report.stages[1].busy;
  EXPECT_NEAR(static_cast<double>(busy.run_delay_ns), static_cast<double>(busy.on_cpu_ns),
              4.0 * SharedCores::kSliceNs);  // each of the four may be a slice ahead or behind at the end
  EXPECT_EQ(busy.on_cpu_ns, 800 * kMs);
}

TEST(Replay, NoMoreTransformsRunThanThereAreWorkers) {
  RunBuilder builder;
  builder.stage(Role::source, 100, RunBuilder::waits(10'000));
  builder.stage(Role::transform, 100, RunBuilder::waits(8 * kMs), 4);
  builder.stage(Role::sink, 100, RunBuilder::waits(10'000));
  builder.link(0, 1, 16).link(1, 2, 16);
  builder.run().threads = 2;
  const RunReport report = replay(builder.run());
  EXPECT_NEAR(static_cast<double>(report.wall_ns), 400e6, 4e6);
  EXPECT_GT(report.stages[1].time.ready_ns, 300 * kMs);
}

TEST(Replay, FirstTheWorkersServeTheStageNearestToTheSink) {
  // One worker, two stages: it takes each chunk to the end before it begins another, so the link between holds one.
  RunBuilder builder = RunBuilder::chain(
      50, 16, {RunBuilder::waits(10'000), RunBuilder::waits(kMs), RunBuilder::waits(kMs), RunBuilder::waits(10'000)});
  builder.run().threads = 1;
  const RunReport report = replay(builder.run());
  EXPECT_EQ(report.links[1].max_chunks, 1U);
  EXPECT_EQ(report.links[0].max_chunks, 16U);
}

TEST(Replay, ALossyLinkDropsWhatFindsNoRoom) {
  RunBuilder builder;
  builder.stage(Role::source, 1000, RunBuilder::waits(kMs));
  builder.stage(Role::sink, 100, RunBuilder::waits(4 * kMs));
  builder.link(0, 1, 4, WhenFull::drop_newest);
  const RunReport report = replay(builder.run());
  EXPECT_EQ(report.stages[0].time.blocked_ns, 0);
  EXPECT_EQ(report.links[0].dropped_chunks + report.stages[1].chunks_in, 1000U);
  EXPECT_NEAR(static_cast<double>(report.links[0].dropped_chunks), 745, 10);
}

TEST(Replay, ASplitterGivesAsManyChunksAsItDid) {
  RunBuilder builder;
  builder.stage(Role::source, 50, RunBuilder::waits(10'000));
  const std::size_t split = builder.stage(Role::transform, 0, RunBuilder::waits(0), 3);
  builder.stage(Role::sink, 150, RunBuilder::waits(10'000));
  builder.link(0, split, 4).link(split, 2, 4);
  auto script = std::make_shared<CallScript>();
  for (int k = 0; k < 50; ++k) {
    script->begin_group();
    for (int more = 0; more < 4; ++more) script->add({0, 0, kMs, 100, more < 3, -1});
  }
  builder.run().stages[split].calls = script;
  builder.run().stages[split].splits = true;
  const RunReport report = replay(builder.run());
  EXPECT_EQ(report.stages[split].chunks_in, 50U);
  EXPECT_EQ(report.stages[split].chunks_out, 150U);
  EXPECT_EQ(report.stages[split].bytes_out, 15'000U);
  EXPECT_EQ(report.stages[2].chunks_in, 150U);
  EXPECT_EQ(report.stages[split].busy.other_wait_ns, 200 * kMs);
}

TEST(Replay, FinishIsPartOfTheRunAndMayGiveChunks) {
  RunBuilder builder =
      RunBuilder::chain(10, 4, {RunBuilder::waits(kMs), RunBuilder::waits(kMs), RunBuilder::waits(kMs)});
  auto finish = std::make_shared<CallScript>();
  finish->begin_group();
  finish->add({0, 0, 5 * kMs, 77, true, -1});
  finish->add({0, 0, kMs, 0, false, -1});
  builder.run().stages[1].finishes = finish;
  auto sync = std::make_shared<CallScript>();
  sync->begin_group();
  sync->add({0, 20 * kMs, 0, 0, false, -1});
  builder.run().stages[2].finishes = sync;
  const RunReport report = replay(builder.run());
  EXPECT_EQ(report.stages[1].chunks_out, 11U);
  EXPECT_EQ(report.stages[2].bytes_in, 10 * test::kChunkBytes + 77);
  // 11 ms until the last chunk has left the transform, 5 of its finish, then 1 of the sink beside it, and the sync.
  EXPECT_EQ(report.wall_ns, (11 + 5 + 1 + 20) * kMs);
}

TEST(Replay, AStageThatGetsMoreChunksThanItDidBeginsAgain) {
  RunBuilder builder;
  builder.stage(Role::source, 90, RunBuilder::waits(10'000));
  builder.stage(Role::sink, 30, [](std::size_t k) {
    return RecordedCall{0, static_cast<std::int64_t>(k + 1) * 100'000, 0, 0, false, -1};
  });
  builder.link(0, 1, 8);
  const RunReport report = replay(builder.run());
  EXPECT_EQ(report.stages[1].chunks_in, 90U);
  EXPECT_EQ(report.stages[1].busy.io_wait_ns, 3 * 46'500'000);
}

TEST(Replay, APacedSourceEndsItsCallsByTheClock) {
  RunBuilder builder = RunBuilder::chain(
      20, 4,
      {[](std::size_t k) { return RecordedCall{0, 0, kMs, 0, false, static_cast<std::int64_t>(k + 1) * 10 * kMs}; },
       RunBuilder::waits(kMs)});
  EXPECT_EQ(replay(builder.run()).wall_ns, 201 * kMs);
  builder.run().stages[1].wait_factor = 8;  // still faster than the pace
  EXPECT_EQ(replay(builder.run()).wall_ns, 208 * kMs);
  builder.run().stages[1].wait_factor = 20;
  EXPECT_EQ(replay(builder.run()).wall_ns, 410 * kMs);
  EXPECT_EQ(verdict_key(replay(builder.run()).verdict), "latency:s1");
}

TEST(Replay, WakingAThreadAndHandingOverCostWhatTheyDid) {
  RunBuilder builder = RunBuilder::chain(100, 2, {RunBuilder::waits(kMs), RunBuilder::waits(10'000)});
  const std::int64_t without_ns = replay(builder.run()).wall_ns;
  builder.run().stages[0].hand_over_ns = 20'000;
  // Its last turn finds the end of the stream, which takes longer than the sink needs for the last chunk.
  EXPECT_EQ(replay(builder.run()).wall_ns, 100 * kMs + 101 * 20'000);
  builder.run().stages[0].hand_over_ns = 0;
  builder.run().stages[1].wake_ns = 50'000;  // only the last of them is not hidden behind the source's next call
  EXPECT_EQ(replay(builder.run()).wall_ns, without_ns + 50'000);
}

/// A graph with everything in it, of random size and times.
RecordedRun random_run(std::mt19937_64& random) {
  RunBuilder builder;
  const auto number = [&random](std::uint64_t most) { return 1 + random() % most; };
  const auto service = [&]() -> Service {
    const auto cpu_ns = static_cast<std::int64_t>(random() % 100'000);
    const auto wait_ns = static_cast<std::int64_t>(random() % 100'000);
    return [cpu_ns, wait_ns](std::size_t k) {
      return RecordedCall{cpu_ns, k % 7 == 0 ? 3 * wait_ns : wait_ns, wait_ns / 4, 0, false, -1};
    };
  };
  const auto slots = [&] { return static_cast<std::uint32_t>(number(4)); };
  const std::size_t chunks = 100 + random() % 200;
  const std::size_t left = builder.stage(Role::source, chunks, service(), slots());
  const std::size_t right = builder.stage(Role::source, chunks, service());
  const std::size_t merge = builder.stage(Role::transform, 2 * chunks, service(), slots());
  const std::size_t fan = builder.stage(Role::transform, 2 * chunks, service(), slots());
  const std::size_t other = builder.stage(Role::transform, 2 * chunks, service(), slots());
  const std::size_t first = builder.stage(Role::sink, 2 * chunks, service(), slots());
  const std::size_t second = builder.stage(Role::sink, 2 * chunks, service());
  builder.link(left, merge, number(8)).link(right, merge, number(8)).link(merge, fan, number(16));
  builder.link(fan, first, number(4)).link(fan, other, number(8)).link(other, second, number(8));
  builder.run().threads = static_cast<std::uint32_t>(number(4));
  builder.run().cores = static_cast<std::uint32_t>(number(4));
  for (RecordedStage& stage : builder.run().stages) {
    stage.hand_over_ns = static_cast<std::int64_t>(random() % 3'000);
    stage.wake_ns = static_cast<std::int64_t>(random() % 60'000);
    stage.delay_ns = static_cast<double>(random() % 1'000);
    stage.ordered = random() % 2 == 0;
  }
  return builder.run();
}

TEST(Replay, NoTimeAndNoChunkIsLostInRandomGraphs) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 60; ++run) {
    const RecordedRun recorded = random_run(random);
    const RunReport report = replay(recorded);
    EXPECT_EQ(slot_time_error(report), 0) << run;
    const std::uint64_t chunks = report.stages[0].chunks_out + report.stages[1].chunks_out;
    EXPECT_EQ(report.stages[5].chunks_in, chunks) << run;
    EXPECT_EQ(report.stages[6].chunks_in, chunks) << run;
    // Nobody had more of the cores than there are.
    double cpu_ns = 0;
    for (const StageReport& stage : report.stages) cpu_ns += static_cast<double>(stage.busy.on_cpu_ns);
    EXPECT_LE(cpu_ns, 1.0001 * static_cast<double>(report.wall_ns) * recorded.cores) << run;
  }
}

TEST(Replay, TheSameRunGivesTheSameReplay) {
  std::mt19937_64 random(8);
  for (int run = 0; run < 5; ++run) {
    const RecordedRun recorded = random_run(random);
    const RunReport first = replay(recorded);
    const RunReport second = replay(recorded);
    EXPECT_EQ(first.wall_ns, second.wall_ns);
    for (std::size_t i = 0; i < first.stages.size(); ++i) EXPECT_EQ(first.stages[i].time, second.stages[i].time);
  }
}

TEST(Replay, MoreCoresAndFasterStagesNeverMakeAChainSlower) {
  std::mt19937_64 random(9);
  for (int run = 0; run < 20; ++run) {
    std::vector<Service> calls;
    for (int i = 0; i < 4; ++i)
      calls.push_back(RunBuilder::computes(10'000 + static_cast<std::int64_t>(random() % 90'000)));
    RunBuilder builder = RunBuilder::chain(200, 4, calls);
    builder.run().cores = 2;
    const std::int64_t before_ns = replay(builder.run()).wall_ns;
    RecordedRun more = builder.run();
    more.cores = 4;
    EXPECT_LE(replay(more).wall_ns, before_ns);
    RecordedRun faster = builder.run();
    for (RecordedStage& stage : faster.stages) stage.cpu_factor = .5;
    EXPECT_NEAR(static_cast<double>(replay(faster).wall_ns), static_cast<double>(before_ns) / 2,
                .02 * static_cast<double>(before_ns));
  }
}

TEST(Replay, ARunWithoutEndIsRefused) {
  // Nothing ever comes out of a stage whose splitter waits for a link that nobody empties: no stage reads it.
  RunBuilder builder = RunBuilder::chain(10, 1, {RunBuilder::waits(kMs), RunBuilder::waits(kMs)});
  builder.run().links[0].bounds.bytes = 0;
  EXPECT_THROW(replay(builder.run()), Error);
}

/// source -> work with `slots` -> sink; every call of work takes 4 ms.
RecordedRun four_ms_each(std::uint32_t slots, bool own_threads, const Service& service) {
  RunBuilder builder;
  builder.stage(Role::source, 200, RunBuilder::waits(10'000));
  builder.stage(Role::transform, 200, service, slots);
  builder.stage(Role::sink, 200, RunBuilder::waits(10'000));
  builder.link(0, 1, 32).link(1, 2, 32);
  RecordedRun run = builder.run();
  run.threads = 1;
  run.cores = 2;
  run.stages[1].own_threads = own_threads;
  return run;
}

TEST(Replay, SlotsOfAStageThatWaitsNeedNoWorkerAndNoCore) {
  const auto wall = [](bool own_threads) {
    return static_cast<double>(replay(four_ms_each(8, own_threads, RunBuilder::waits(4 * kMs))).wall_ns) / kMs;
  };
  EXPECT_NEAR(wall(false), 800, 10);  // one worker takes one call at a time
  EXPECT_NEAR(wall(true), 100, 10);   // eight threads
  const RunReport report = replay(four_ms_each(8, true, RunBuilder::waits(4 * kMs)));
  EXPECT_LT(slot_time_error(report), 1e-9);
  EXPECT_EQ(verdict_key(report.verdict), "latency:s1");
}

TEST(Replay, ChildProcessesThatComputeShareTheCores) {
  const auto computing_child = [](std::size_t) {
    RecordedCall call;
    call.child_ns = 4 * kMs;
    return call;
  };
  const RunReport report = replay(four_ms_each(8, true, computing_child));
  EXPECT_NEAR(static_cast<double>(report.wall_ns) / kMs, 400, 10);  // 800 ms of computing on two cores
  EXPECT_NEAR(static_cast<double>(report.stages[1].busy.other_wait_ns) / kMs, 800, 1);
  EXPECT_LT(report.stages[1].busy.on_cpu_ns, kMs);
}

}  // namespace
}  // namespace millrace
