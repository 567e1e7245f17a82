#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/verdict.h"

namespace millrace::test {

/// One stage of a made-up run, in shares of its slot time. What is left of 1 is `done`.
struct Shares {
  std::string name = {};
  Role role = Role::transform;
  double cpu = 0;
  double io = 0;
  double delay = 0;
  double other = 0;
  double starved = 0;
  double blocked = 0;
  double ready = 0;
  std::uint32_t slots = 1;
};

/// A made-up run: a chain of stages unless `links` says otherwise.
struct Scenario {
  std::vector<Shares> stages;
  std::uint32_t threads = 2;
  std::uint32_t cores = 2;
  double wall_s = 10;
  std::uint64_t chunks = 2000;
  double p50_of_mean = 1;  ///< of every stage's call times
  double p90_of_mean = 1;
  std::uint32_t cpu_sampled_every = 1;
  std::vector<std::pair<std::size_t, std::size_t>> links = {};
  std::uint64_t dropped_on_first_link = 0;
};

inline std::int64_t part(double share, double whole_ns) { return std::llround(share * whole_ns); }

inline VerdictInput input_of(const Scenario& scenario) {
  VerdictInput input;
  input.wall_ns = std::llround(scenario.wall_s * 1e9);
  input.threads = scenario.threads;
  input.cores = scenario.cores;
  for (const auto& shares : scenario.stages) {
    VerdictInput::PerStage& stage = input.stages.emplace_back();
    const double slot_time = static_cast<double>(input.wall_ns) * shares.slots;
    stage.name = shares.name;
    stage.role = shares.role;
    stage.slots = shares.slots;
    stage.busy = {part(shares.cpu, slot_time), part(shares.io, slot_time), part(shares.delay, slot_time),
                  part(shares.other, slot_time)};
    stage.time.busy_ns = stage.busy.sum_ns();
    stage.time.starved_ns = part(shares.starved, slot_time);
    stage.time.blocked_ns = part(shares.blocked, slot_time);
    stage.time.ready_ns = part(shares.ready, slot_time);
    stage.time.done_ns = std::llround(slot_time) - stage.time.sum_ns();
    stage.chunks = scenario.chunks;
    const auto mean = static_cast<double>(stage.time.busy_ns - stage.busy.run_delay_ns) /
                      static_cast<double>(std::max<std::uint64_t>(1, scenario.chunks));
    stage.call = {scenario.chunks, part(scenario.p50_of_mean, mean), part(scenario.p90_of_mean, mean),
                  part(3 * scenario.p90_of_mean, mean), part(5 * scenario.p90_of_mean, mean)};
    stage.mean_call_ns = mean;
    stage.cpu_sampled_every = scenario.cpu_sampled_every;
    stage.writes = shares.role == Role::sink;
  }
  auto links = scenario.links;
  if (links.empty())
    for (std::size_t i = 1; i < scenario.stages.size(); ++i) links.emplace_back(i - 1, i);
  for (const auto& [from, to] : links) {
    VerdictInput::PerLink& link = input.links.emplace_back();
    link.from = from;
    link.to = to;
    link.capacity_chunks = 4;
    link.mean_chunks = 2;
  }
  if (!input.links.empty()) input.links.front().dropped_chunks = scenario.dropped_on_first_link;
  return input;
}

}  // namespace millrace::test
