#include "pipeline/verdict_analysis.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pipeline/verdict_thresholds.h"

namespace millrace::verdict {
namespace {

double ratio(std::int64_t part, double whole) { return whole > 0 ? static_cast<double>(part) / whole : 0.0; }

StageShares shares_of(const VerdictInput::PerStage& stage, std::int64_t wall_ns) {
  const double slot_time = static_cast<double>(stage.slots) * static_cast<double>(wall_ns);
  StageShares shares;
  shares.busy = ratio(stage.time.busy_ns, slot_time);
  shares.on_cpu = ratio(stage.busy.on_cpu_ns, slot_time);
  shares.io_wait = ratio(stage.busy.io_wait_ns, slot_time);
  shares.run_delay = ratio(stage.busy.run_delay_ns, slot_time);
  shares.other_wait = ratio(stage.busy.other_wait_ns, slot_time);
  shares.starved = ratio(stage.time.starved_ns, slot_time);
  shares.blocked = ratio(stage.time.blocked_ns, slot_time);
  shares.ready = ratio(stage.time.ready_ns, slot_time);
  shares.net = shares.busy - shares.run_delay;
  shares.want = shares.busy + shares.ready;
  return shares;
}

/// Marks what lies before a link that dropped chunks: it was never made to wait, so its demand limits nothing.
std::vector<bool> held_stages(const VerdictInput& input) {
  std::vector<bool> held(input.stages.size(), true);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto& link : input.links) {
      const bool free = link.dropped_chunks > 0 || !held[link.to];
      if (!free || !held[link.from]) continue;
      held[link.from] = false;
      changed = true;
    }
  }
  // Where every stage is upstream of a loss, nothing is left to judge by; judge all of them.
  if (std::none_of(held.begin(), held.end(), [](bool value) { return value; })) held.assign(held.size(), true);
  return held;
}

void add_machine(Analysis& analysis) {
  const auto wall = static_cast<double>(analysis.input->wall_ns);
  const double worker_time = wall * analysis.input->threads;
  double delayed = 0;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i) {
    const auto& stage = analysis.stage(i);
    const std::int64_t computing = stage.busy.on_cpu_ns + stage.busy.run_delay_ns;
    const bool pooled = stage.uses_workers();
    if (pooled) {
      analysis.pool_load += ratio(computing, worker_time);
      analysis.pool_need += ratio(stage.busy.on_cpu_ns, worker_time);
      analysis.pool_busy += ratio(stage.time.busy_ns, worker_time);
      analysis.ready_per_worker += ratio(stage.time.ready_ns, worker_time);
    }
    delayed += ratio(stage.busy.run_delay_ns, wall);
    const double want = ratio(computing + stage.child_cpu_ns + (pooled ? stage.time.ready_ns : 0), wall);
    analysis.cores_used += ratio(stage.busy.on_cpu_ns + stage.child_cpu_ns, wall);
    analysis.cores_wanted += want;
    analysis.largest_want = std::max(analysis.largest_want, want);
    if (want >= 0.1) ++analysis.wanting_stages;
  }
  analysis.contended = delayed > 0 && delayed >= kContendedShare * (delayed + analysis.cores_used);
}

void add_order(Analysis& analysis) {
  const auto& stages = analysis.stages;
  // A stage that is mostly due but seldom in a call waits for a worker: it paces nothing, however much it is due.
  const auto rank = [&](std::size_t i) {
    if (analysis.contended) return std::pair(true, stages[i].net);
    const bool can_pace = stages[i].busy >= kPacingBusyShare;
    return std::pair(can_pace, can_pace ? stages[i].want : stages[i].busy);
  };
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (analysis.held[i] && (!analysis.top || rank(i) > rank(*analysis.top))) analysis.top = i;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!analysis.held[i] || i == analysis.top) continue;
    if (!analysis.second || stages[i].net > stages[*analysis.second].net) analysis.second = i;
  }
}

void add_links(Analysis& analysis) {
  for (std::size_t i = 0; i < analysis.input->links.size(); ++i) {
    const auto& link = analysis.input->links[i];
    const double loss = std::min(analysis.stages[link.from].blocked * link.share_of_blocked,
                                 analysis.stages[link.to].starved * link.share_of_starved);
    analysis.link_loss.push_back(loss);
    if (!analysis.worst_link || loss > analysis.link_loss[*analysis.worst_link]) analysis.worst_link = i;
  }
}

/// The share of wall that the machine itself would need, were only the stages but `without` to run.
double machine_limit(const Analysis& analysis, std::optional<std::size_t> without) {
  const auto wall = static_cast<double>(analysis.input->wall_ns);
  double cores = 0;
  double pool = 0;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i) {
    if (i == without) continue;
    const auto& stage = analysis.stage(i);
    cores += ratio(stage.busy.on_cpu_ns + stage.child_cpu_ns, wall);
    if (stage.uses_workers()) pool += ratio(stage.time.busy_ns - stage.busy.run_delay_ns, wall);
  }
  return std::max(cores / analysis.input->cores, pool / analysis.input->threads);
}

}  // namespace

Analysis analyse(const VerdictInput& input) {
  Analysis analysis;
  analysis.input = &input;
  for (const auto& stage : input.stages) analysis.stages.push_back(shares_of(stage, input.wall_ns));
  analysis.held = held_stages(input);
  add_machine(analysis);
  add_order(analysis);
  add_links(analysis);
  return analysis;
}

Nature nature_of(const Analysis& analysis, std::size_t index) {
  const auto& stage = analysis.stage(index);
  const auto& busy = stage.busy;
  const char* io = stage.writes ? "io-write" : "io-read";
  const char* other = stage.role == Role::source ? "source-paced" : "latency";
  const std::int64_t own = busy.on_cpu_ns + busy.io_wait_ns + busy.other_wait_ns;
  if (own <= 0) return {busy.run_delay_ns > 0 ? "compute" : other, 0, false};
  struct Part {
    std::int64_t ns;
    const char* kind;
  };
  const std::array<Part, 3> parts{{{busy.on_cpu_ns, "compute"}, {busy.io_wait_ns, io}, {busy.other_wait_ns, other}}};
  const auto& largest =
      *std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.ns < b.ns; });
  return {largest.kind, ratio(largest.ns, static_cast<double>(own)), true};
}

std::string key_of(const Analysis& analysis, std::size_t stage) {
  return nature_of(analysis, stage).kind + ":" + analysis.name(stage);
}

bool is_bursty(const VerdictInput::PerStage& stage) {
  const auto& call = stage.call;
  // Without run delay: being preempted is no burst of the stage.
  const double mean = stage.mean_call_ns;
  if (call.count == 0 || mean <= 0) return false;
  if (mean >= kBurstMeanToMedian * static_cast<double>(call.p50_ns)) return true;
  const bool disturbed =
      static_cast<double>(stage.busy.run_delay_ns) > kUndisturbedShare * static_cast<double>(stage.time.busy_ns);
  return !disturbed && static_cast<double>(call.p90_ns) >= kBurstP90ToMean * mean;
}

Ceiling ceiling_without(const Analysis& analysis, std::size_t without) {
  double demand = 0;
  std::size_t next = without;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i) {
    if (i == without || !analysis.held[i] || analysis.stages[i].busy <= demand) continue;
    demand = analysis.stages[i].busy;
    next = i;
  }
  const double machine = machine_limit(analysis, without);
  const double limit = std::max(demand, machine);
  if (limit <= 0) return {};
  const bool by_machine = machine > demand * kMachineNextRatio;
  return {std::max(1.0, 1.0 / limit), by_machine || next == without ? "workers" : key_of(analysis, next)};
}

Ceiling ceiling_unhindered(const Analysis& analysis) {
  double demand = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i) {
    if (!analysis.held[i] || analysis.stages[i].net <= demand) continue;
    demand = analysis.stages[i].net;
    next = i;
  }
  if (demand <= 0) return {};
  return {std::max(1.0, 1.0 / demand), key_of(analysis, next)};
}

}  // namespace millrace::verdict
