// The half of Graph that tells what happened.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "pipeline/core/units.h"
#include "pipeline/graph.h"

namespace millrace {
namespace {

const char* state_name(char state) {
  switch (state) {
    case 's':
      return "starved";
    case 'b':
      return "blocked";
    case 'r':
      return "ready, but no worker was free";
    case 'd':
      return "at the end of its stream";
    default:
      return "in a call";
  }
}

void add_io(std::optional<IoStats>& sum, const std::optional<IoStats>& one) {
  if (!one) return;
  if (sum) {
    sum->add(*one);
  } else {
    sum = one;
  }
}

/// Books what the slots of a stage refused, one line per reason; their sum.
std::uint64_t add_refused(const StagePlan& stage, Loss& loss) {
  std::map<std::string, std::uint64_t> by_reason;
  for (const auto& instance : stage.instances) {
    for (const auto& refused : instance->findings().refused) by_reason[refused.reason] += refused.chunks;
  }
  std::uint64_t sum = 0;
  for (const auto& [reason, chunks] : by_reason) {
    if (chunks != 0) loss.dropped.push_back({stage.name, reason, chunks});
    sum += chunks;
  }
  return sum;
}

}  // namespace

Sample Graph::sample() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = std::max(clock_.now_ns(), flow_.ledger().latest_ns());
  Sample sample;
  sample.at_ns = now_ns - start_ns_;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const FlowState::Counters& counters = flow_.counters(i);
    const StateTimes times = flow_.ledger().times(i, now_ns);
    // Of the calls that ended: what a call under way is made of is not known yet.
    const BusySplit busy = split(i, std::min(times.busy_ns, stages_[i].tally.wall_ns));
    sample.stages.push_back(
        {times, busy, counters.chunks_in, counters.chunks_out, counters.bytes_in, counters.bytes_out});
  }
  for (std::size_t i = 0; i < flow_.link_count(); ++i) sample.link_chunks.push_back(flow_.link(i).waiting());
  return sample;
}

std::uint64_t Graph::allocations() const {
  std::uint64_t sum = 0;
  for (const auto& pool : pools_) sum += pool->allocations();
  return sum;
}

BusyTally Graph::total_tally() const {
  BusyTally sum;
  for (const StageEntry& stage : stages_) sum.add(stage.tally);
  return sum;
}

std::string Graph::explain_stall() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = clock_.now_ns();
  std::string text;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const auto& state = flow_.ledger().state(i);
    text += fmt::format("{}{}: ", i == 0 ? "" : "; ", plan_.stages[i].name);
    const auto& counts = state.counts;
    std::string parts;
    const auto part = [&parts](std::uint32_t slots, const std::string& what) {
      if (slots != 0) parts += fmt::format("{}{} of its slots {}", parts.empty() ? "" : ", ", slots, what);
    };
    part(counts.busy, "in a call");
    if (state.empty_link != WaitLedger::kNone) {
      part(counts.starved, "starved by " + plan_.stages[plan_.links[state.empty_link].from].name);
    }
    if (state.full_link != WaitLedger::kNone) {
      part(counts.blocked, "blocked by " + plan_.stages[plan_.links[state.full_link].to].name);
    }
    part(counts.ready, "ready without a worker");
    part(counts.done, "done");
    text += parts;
  }
  for (std::size_t i = 0; i < flow_.link_count(); ++i) {
    text += fmt::format("; link {} -> {} holds {} of {} chunks", plan_.stages[plan_.links[i].from].name,
                        plan_.stages[plan_.links[i].to].name, flow_.link(i).waiting(), plan_.links[i].capacity_chunks);
  }
  return fmt::format("no call has ended for {}: {}", format_duration_ns(now_ns - last_progress_ns()), text);
}

void Graph::fill_report(RunReport& report) {
  const std::lock_guard lock(mutex_);
  const std::int64_t end_ns =
      std::max({end_ns_.load() == 0 ? clock_.now_ns() : end_ns_.load(), flow_.ledger().latest_ns()});
  report.wall_ns = end_ns - start_ns_;
  report.threads = plan_.threads;
  for (std::size_t i = 0; i < stages_.size(); ++i) report.stages.push_back(stage_report(i, end_ns));
  for (std::size_t i = 0; i < flow_.link_count(); ++i) report.links.push_back(link_report(i, end_ns));
  add_blame(report, end_ns);
  add_stalls(report);
  add_loss(report);
}

StageReport Graph::stage_report(std::size_t index, std::int64_t end_ns) const {
  const StagePlan& plan = plan_.stages[index];
  const FlowState::Counters& counters = flow_.counters(index);
  const StageEntry& stage = stages_[index];
  StageReport report;
  report.name = plan.name;
  report.type = plan.type;
  report.role = plan.role;
  report.slots = plan.slots();
  report.own_threads = plan.role == Role::transform && !plan.uses_workers();
  report.chunks_in = counters.chunks_in;
  report.chunks_out = counters.chunks_out;
  report.bytes_in = counters.bytes_in;
  report.bytes_out = counters.bytes_out;
  report.time = flow_.ledger().times(index, end_ns);
  // Of a call that never came back nobody knows what it did: it is off the CPU for an unexplained reason.
  const std::int64_t unknown_ns =
      is_in_a_call(index) ? std::max<std::int64_t>(report.time.busy_ns - stage.tally.wall_ns, 0) : 0;
  report.busy = split(index, report.time.busy_ns - unknown_ns);
  report.busy.other_wait_ns += unknown_ns;
  report.major_faults = stage.tally.major_faults;
  report.copied_bytes = stage.tally.copied_bytes;
  report.cpu_sampled_every = static_cast<std::uint32_t>(
      stage.tally.sampled_calls == 0 ? stage.tally.calls
                                     : (stage.tally.calls + stage.tally.sampled_calls / 2) / stage.tally.sampled_calls);
  if (is_in_a_call(index)) return report;  // left behind: all that is its own is still in the hands of its threads
  if (stage.recorder) report.record = stage_record(index);
  Histogram calls;
  for (const StageRunner& runner : stage.runners) calls.add(runner.call_times());
  report.call = {calls.count(), calls.quantile_ns(0.5), calls.quantile_ns(0.9), calls.quantile_ns(0.99),
                 calls.max_ns()};
  for (const auto& instance : plan.instances) {
    add_io(report.io, instance->io_stats());
    report.child_cpu_ns += instance->child_cpu_ns();
    const Findings found = instance->findings();
    report.findings.insert(report.findings.end(), found.lines.begin(), found.lines.end());
  }
  return report;
}

StageRecord Graph::stage_record(std::size_t index) const {
  const StagePlan& plan = plan_.stages[index];
  StageRecord record = stages_[index].recorder->record(stages_[index].tally);
  record.parallel = plan.instances.front()->parallel();
  record.ordered = plan.ordered;
  record.splits = flow_.shape(index).splits;
  for (const std::size_t link : plan.inputs) {
    record.inputs.push_back({plan_.links[link].when_full, plan_.links[link].type.max_bytes});
  }
  return record;
}

LinkReport Graph::link_report(std::size_t index, std::int64_t end_ns) const {
  const LinkPlan& plan = plan_.links[index];
  const Link::Occupancy seen = flow_.link(index).occupancy(start_ns_, end_ns);
  LinkReport report;
  report.from = plan_.stages[plan.from].name;
  report.to = plan_.stages[plan.to].name;
  report.capacity_chunks = plan.capacity_chunks;
  report.capacity_bytes = plan.capacity_bytes;
  report.mean_chunks = seen.mean_chunks;
  report.max_chunks = seen.max_chunks;
  report.time_full_ns = seen.full_ns;
  report.time_empty_ns = seen.empty_ns;
  report.starved_ns = flow_.ledger().starved_ns(index, end_ns);
  report.blocked_ns = flow_.ledger().blocked_ns(index, end_ns);
  // Little's law: mean number waiting = rate of arrival x mean time waiting.
  if (seen.entered != 0) {
    report.mean_wait_ns =
        seen.mean_chunks * static_cast<double>(end_ns - start_ns_) / static_cast<double>(seen.entered);
  }
  report.dropped_chunks = seen.dropped;
  return report;
}

void Graph::add_blame(RunReport& report, std::int64_t end_ns) const {
  for (std::size_t waiting = 0; waiting < stages_.size(); ++waiting) {
    for (std::size_t cause = 0; cause <= stages_.size(); ++cause) {
      const bool workers = cause == stages_.size();
      const std::int64_t ns = flow_.ledger().blame_ns(waiting, workers ? WaitLedger::kNone : cause, end_ns);
      if (ns == 0) continue;
      report.blame.push_back({plan_.stages[waiting].name, workers ? "(workers)" : plan_.stages[cause].name, ns});
    }
  }
}

void Graph::add_stalls(RunReport& report) const {
  for (const WaitLedger::Stall& stall : flow_.ledger().longest_stalls()) {
    StallReport line;
    line.stage = plan_.stages[stall.stage].name;
    line.state = stall.state == 's' ? "starved" : stall.state == 'b' ? "blocked" : "ready";
    line.ns = stall.length_ns;
    line.at_ns = stall.start_ns - start_ns_;
    line.chunk = stall.chunk;
    const std::int64_t stall_end_ns = stall.start_ns + stall.length_ns;
    for (const auto& link : stall.cause) {
      line.cause.push_back(fmt::format("{} {} for {}", plan_.stages[link.stage].name, state_name(link.state),
                                       format_duration_ns(stall_end_ns - link.since_ns)));
    }
    report.stalls.push_back(std::move(line));
  }
}

void Graph::add_loss(RunReport& report) const {
  Loss& loss = report.loss;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const FlowState::Counters& counters = flow_.counters(i);
    const FlowState::StageShape& shape = flow_.shape(i);
    // Fan-out, splitting and merging change the number of chunks on their way: what a stage adds counts as read, what
    // it takes in without passing on counts as written.
    const std::uint64_t refused = is_in_a_call(i) ? 0 : add_refused(plan_.stages[i], loss);
    const std::uint64_t delivered = counters.chunks_out * shape.outputs.size() + refused;
    if (delivered > counters.processed) loss.read += delivered - counters.processed;
    if (counters.processed > delivered) loss.written += counters.processed - delivered;
    loss.failed += counters.failed;
    const std::uint64_t stopped = counters.unprocessed + counters.discarded;
    if (stopped != 0) loss.dropped.push_back({plan_.stages[i].name, "stopped", stopped});
  }
  for (std::size_t i = 0; i < flow_.link_count(); ++i) {
    const LinkPlan& plan = plan_.links[i];
    loss.in_flight += flow_.link(i).waiting();
    const std::uint64_t dropped = flow_.link(i).occupancy(start_ns_, end_ns_).dropped;
    if (dropped != 0) loss.dropped.push_back({plan_.stages[plan.to].name, name_of(plan.when_full), dropped});
  }
}

}  // namespace millrace
