// The verdict against chains whose slot time is computed, not made up: a chain of stages with one slot each, bounded
// links and credits reserved before the call has a closed recurrence, so the bottleneck is known by construction.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "pipeline/verdict.h"

namespace millrace {
namespace {

enum class Work { cpu, io, sleep };

struct SimulatedStage {
  Work work = Work::cpu;
  std::function<double(std::size_t)> service_ns;  ///< of chunk k
};

std::int64_t percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return std::llround(values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1))]);
}

/// Chunk k starts in stage i when it has come from i-1, chunk k-1 has left i, and link i -> i+1 has room: chunk
/// k - capacity has been started by i+1.
VerdictInput simulate(const std::vector<SimulatedStage>& stages, std::size_t chunks, std::size_t capacity) {
  const std::size_t n = stages.size();
  std::vector<std::vector<double>> start(n, std::vector<double>(chunks));
  std::vector<std::vector<double>> end(n, std::vector<double>(chunks));
  VerdictInput input;
  input.threads = static_cast<std::uint32_t>(n);
  input.cores = static_cast<std::uint32_t>(n);
  input.stages.resize(n);
  std::vector<double> starved(n, 0.0);
  std::vector<double> blocked(n, 0.0);
  for (std::size_t k = 0; k < chunks; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const double free = k == 0 ? 0 : end[i][k - 1];
      const double arrived = i == 0 ? 0 : end[i - 1][k];
      const double room = i + 1 < n && k >= capacity ? start[i + 1][k - capacity] : 0;
      const double has_input = std::max(free, arrived);
      start[i][k] = std::max(has_input, room);
      end[i][k] = start[i][k] + stages[i].service_ns(k);
      starved[i] += has_input - free;
      blocked[i] += start[i][k] - has_input;
    }
  }
  const double wall = end[n - 1][chunks - 1];
  input.wall_ns = std::llround(wall);
  for (std::size_t i = 0; i < n; ++i) {
    VerdictInput::PerStage& stage = input.stages[i];
    stage.name = "s" + std::to_string(i);
    stage.role = i == 0 ? Role::source : i + 1 == n ? Role::sink : Role::transform;
    stage.writes = stage.role == Role::sink;
    stage.chunks = chunks;
    std::vector<double> services;
    double busy = 0;
    for (std::size_t k = 0; k < chunks; ++k) services.push_back(end[i][k] - start[i][k]);
    for (const double service : services) busy += service;
    stage.call = {chunks, percentile(services, .5), percentile(services, .9), percentile(services, .99),
                  percentile(services, 1)};
    stage.mean_call_ns = busy / static_cast<double>(chunks);
    stage.time.busy_ns = std::llround(busy);
    stage.time.starved_ns = std::llround(starved[i]);
    stage.time.blocked_ns = std::llround(blocked[i]);
    stage.time.done_ns = input.wall_ns - stage.time.sum_ns();
    auto& part = stages[i].work == Work::cpu  ? stage.busy.on_cpu_ns
                 : stages[i].work == Work::io ? stage.busy.io_wait_ns
                                              : stage.busy.other_wait_ns;
    part = stage.time.busy_ns;
    if (i > 0) {
      VerdictInput::PerLink& link = input.links.emplace_back();
      link.from = i - 1;
      link.to = i;
      link.capacity_chunks = capacity;
    }
  }
  return input;
}

std::string expected_kind(Work work, std::size_t stage, std::size_t stages) {
  if (work == Work::cpu) return "compute";
  if (work == Work::io) return stage + 1 == stages ? "io-write" : "io-read";
  return stage == 0 ? "source-paced" : "latency";
}

/// In [0, 1), from SplitMix64: the same for the same stage and chunk.
double uniform(std::uint64_t seed, std::uint64_t k) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15ULL + (k + 1) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-53;
}

SimulatedStage even(Work work, double mean_ns, double jitter, std::uint64_t seed) {
  return {work, [=](std::size_t k) { return mean_ns * (1 - jitter + 2 * jitter * uniform(seed, k)); }};
}

TEST(VerdictSimulation, NamesTheSlowestStageOfRandomChains) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 500; ++run) {
    const std::size_t stages = 3 + random() % 4;
    const std::size_t slowest = random() % stages;
    const std::size_t capacity = 1 + random() % 32;
    std::vector<SimulatedStage> chain;
    for (std::size_t i = 0; i < stages; ++i) {
      const auto work = static_cast<Work>(random() % 3);
      const double mean = i == slowest ? 1e6 : std::uniform_real_distribution<double>(.05e6, .75e6)(random);
      chain.push_back(even(work, mean, .2, random()));
    }
    const Verdict verdict = judge(simulate(chain, 1000, capacity));
    EXPECT_EQ(verdict_key(verdict),
              expected_kind(chain[slowest].work, slowest, stages) + ":s" + std::to_string(slowest))
        << "run " << run << ": " << verdict.rule;
    EXPECT_NE(verdict.confidence, "unsure") << verdict.rule;
  }
}

TEST(VerdictSimulation, CeilingForetellsTheRunWithTheSlowestStageTakenAway) {
  std::mt19937_64 random(2);
  for (int run = 0; run < 100; ++run) {
    const std::size_t slowest = random() % 4;
    std::vector<SimulatedStage> chain;
    for (std::size_t i = 0; i < 4; ++i)
      chain.push_back(
          even(Work::io, i == slowest ? 1e6 : std::uniform_real_distribution<double>(.1e6, .8e6)(random), 0, random()));
    const VerdictInput before = simulate(chain, 2000, 16);
    chain[slowest] = even(Work::io, 0, 0, 1);
    const VerdictInput after = simulate(chain, 2000, 16);
    const double gain = static_cast<double>(before.wall_ns) / static_cast<double>(after.wall_ns);
    EXPECT_NEAR(judge(before).ceiling, gain, .03 * gain) << run;
  }
}

TEST(VerdictSimulation, CallsBurstsThroughAShortLinkALinkAndADeepLinkCuresThem) {
  // The source gives 50 chunks at once, then nothing for as long as the consumer needs for them.
  const SimulatedStage bursts{Work::sleep, [](std::size_t k) { return k % 50 == 0 ? 50e6 : 1e3; }};
  const std::vector<SimulatedStage> chain{bursts, even(Work::cpu, 1e6, .05, 3), even(Work::io, 1e4, 0, 4)};
  const VerdictInput shallow = simulate(chain, 2000, 2);
  const Verdict verdict = judge(shallow);
  EXPECT_EQ(verdict_key(verdict), "link:s0 -> s1") << verdict.rule;

  const VerdictInput deep = simulate(chain, 2000, 100);
  const double gain = static_cast<double>(shallow.wall_ns) / static_cast<double>(deep.wall_ns);
  EXPECT_GT(gain, 1.7);
  EXPECT_LT(gain, verdict.ceiling * 1.05);
  EXPECT_NE(judge(deep).kind, "link");
}

TEST(VerdictSimulation, CallsBurstsInTheMiddleOfAChainALink) {
  const SimulatedStage bursts{Work::cpu, [](std::size_t k) { return k % 20 == 19 ? 20e6 : 1e4; }};
  const std::vector<SimulatedStage> chain{even(Work::io, 1e4, 0, 1), bursts, even(Work::cpu, 1e6, .05, 2),
                                          even(Work::io, 1e4, 0, 3)};
  const Verdict verdict = judge(simulate(chain, 2000, 2));
  EXPECT_EQ(verdict_key(verdict), "link:s1 -> s2") << verdict.rule;
}

TEST(VerdictSimulation, CallsEqualStagesBalanced) {
  for (std::size_t capacity : {4U, 16U, 64U}) {
    const std::vector<SimulatedStage> chain{even(Work::io, 1e5, .2, 1), even(Work::cpu, 1e6, .2, 2),
                                            even(Work::cpu, .98e6, .2, 3), even(Work::io, 1e5, .2, 4)};
    const Verdict verdict = judge(simulate(chain, 2000, capacity));
    EXPECT_EQ(verdict_key(verdict), "balanced") << capacity << ": " << verdict.rule;
    EXPECT_NEAR(verdict.ceiling, 1.0, .06);
  }
}

TEST(VerdictSimulation, ShortRunsNameTheSlowestStageToo) {
  std::mt19937_64 random(5);
  for (int run = 0; run < 200; ++run) {
    const std::size_t slowest = 1 + random() % 2;
    std::vector<SimulatedStage> chain;
    for (std::size_t i = 0; i < 4; ++i) chain.push_back(even(Work::cpu, i == slowest ? 1e6 : .3e6, .1, random()));
    const Verdict verdict = judge(simulate(chain, 12, 4));
    EXPECT_EQ(verdict_key(verdict), "compute:s" + std::to_string(slowest)) << verdict.rule;
    EXPECT_NE(verdict.confidence, "sure");
  }
}

}  // namespace
}  // namespace millrace
