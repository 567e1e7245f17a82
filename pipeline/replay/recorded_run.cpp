#include "pipeline/replay/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

// What validate() and a run allow; a report that claims more was not written by one.
constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMaxSlots = 1024;
constexpr std::uint64_t kMaxLinkChunks = 65536;
/// All recorded time together, 115 days: sums stay in range whatever a change multiplies them with.
constexpr double kMaxTotalNs = 1e16;

/// A source keeps a pace when it mostly waits for something that is no I/O, and is hardly ever held up itself: what is
/// held up gets its wait shortened.
constexpr double kPacedWaitShare = 0.5;
constexpr double kPacedMaxBlocked = 0.05;

[[noreturn]] void refuse(const std::string& what) { throw config_error("this run cannot be replayed: " + what); }

/// Of the time that the stage waited, the share in which its child processes had a core. How they had it within a call
/// is not known; more than one core at a time is taken for one.
double child_share(const StageReport& stage) {
  if (stage.child_cpu_ns <= 0 || stage.busy.other_wait_ns <= 0) return 0;
  return std::min(1.0, static_cast<double>(stage.child_cpu_ns) / static_cast<double>(stage.busy.other_wait_ns));
}

RecordedCall part_of(const StageRecord::Turn& turn, std::uint32_t n, double child_share) {
  const auto share = [&turn](std::int64_t ns) { return ns / static_cast<std::int64_t>(turn.calls); };
  RecordedCall call;
  call.cpu_ns = share(turn.cpu_ns);
  call.io_ns = share(turn.io_ns);
  const std::int64_t waited_ns = share(turn.other_ns);
  call.child_ns = std::llround(child_share * static_cast<double>(waited_ns));
  call.other_ns = waited_ns - call.child_ns;
  call.gives = n < turn.chunks_out;
  if (call.gives) call.bytes_out = turn.bytes_out / turn.chunks_out;
  return call;
}

bool keeps_pace(const StageReport& stage) {
  if (stage.role != Role::source || stage.slots != 1 || stage.time.busy_ns <= 0) return false;
  const auto slot_ns = static_cast<double>(stage.time.sum_ns() - stage.time.done_ns);
  return static_cast<double>(stage.busy.other_wait_ns) >= kPacedWaitShare * static_cast<double>(stage.time.busy_ns) &&
         static_cast<double>(stage.time.blocked_ns) < kPacedMaxBlocked * slot_ns;
}

/// Fills calls and finishes from the turns.
void read_script(const StageRecord& record, double child_share, RecordedStage& stage) {
  auto calls = std::make_shared<CallScript>();
  auto finishes = std::make_shared<CallScript>();
  for (const StageRecord::Turn& turn : record.turns) {
    switch (turn.kind) {
      case StageRecord::Kind::call:
        for (std::uint32_t n = 0; n < turn.calls; ++n) {
          calls->begin_group();
          calls->add(part_of(turn, n, child_share));
        }
        // Of one call only: nobody could say when those within a batch ended.
        if (stage.paced && turn.calls == 1)
          calls->last().not_before_ns = turn.at_ns + turn.cpu_ns + turn.io_ns + turn.other_ns;
        break;
      case StageRecord::Kind::more:
        if (calls->groups() == 0 || !stage.splits) refuse("a more() without its call at '" + stage.name + "'");
        calls->add(part_of(turn, 0, child_share));
        break;
      case StageRecord::Kind::finish:
        // A slot's finish() is called until it gives nothing.
        if (finishes->groups() == 0 || !finishes->last().gives) finishes->begin_group();
        finishes->add(part_of(turn, 0, child_share));
        break;
    }
  }
  stage.calls = std::move(calls);
  stage.finishes = std::move(finishes);
}

RecordedStage stage_of(const StageReport& report) {
  if (!report.record)
    throw config_error(fmt::format("the run was not recorded ('{}' has no record): run it with --record", report.name));
  const StageRecord& record = *report.record;
  if (report.slots > kMaxSlots) refuse("'" + report.name + "' has too many slots");
  RecordedStage stage;
  stage.name = report.name;
  stage.type = report.type;
  stage.role = report.role;
  stage.slots = report.slots;
  stage.own_threads = report.own_threads;
  stage.parallel = record.parallel;
  stage.ordered = record.ordered;
  stage.splits = record.splits && report.role == Role::transform;
  stage.cut = record.cut();
  stage.hand_over_ns = record.hand_over_ns;
  stage.wake_ns = record.wake_ns;
  stage.io = report.io;
  stage.paced = keeps_pace(report);
  read_script(record, child_share(report), stage);
  return stage;
}

void add_links(const RunReport& report, RecordedRun& run) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < run.stages.size(); ++i) index.emplace(run.stages[i].name, i);
  for (const LinkReport& link : report.links) {
    const auto from = index.find(link.from);
    const auto to = index.find(link.to);
    if (from == index.end() || to == index.end() || from->second >= to->second)
      refuse(fmt::format("the link {} -> {} does not follow the stages", link.from, link.to));
    RecordedStage& consumer = run.stages[to->second];
    const auto& inputs = report.stages[to->second].record->inputs;
    if (consumer.inputs.size() >= inputs.size()) refuse("'" + link.to + "' has more links than inputs");
    const StageRecord::Input& input = inputs[consumer.inputs.size()];
    if (link.capacity_chunks == 0 || link.capacity_chunks > kMaxLinkChunks || link.capacity_bytes == 0)
      refuse(fmt::format("the bounds of the link {} -> {} make no sense", link.from, link.to));
    consumer.inputs.push_back(run.links.size());
    run.stages[from->second].outputs.push_back(run.links.size());
    run.links.push_back({from->second,
                         to->second,
                         {link.capacity_chunks, link.capacity_bytes, input.when_full},
                         input.max_chunk_bytes});
  }
}

/// A worker belongs to no stage, so its wake-ups are taken together: the mean over the stages for which one was woken.
/// Where none was, the other threads of the run are the best that is known.
void set_wakes(RecordedRun& run) {
  const auto mean = [&run](bool workers) -> std::optional<std::int64_t> {
    std::int64_t stages = 0;
    std::int64_t ns = 0;
    for (const RecordedStage& stage : run.stages) {
      if (stage.uses_workers() != workers || stage.wake_ns == 0) continue;
      ++stages;
      ns += stage.wake_ns;
    }
    if (stages == 0) return std::nullopt;
    return ns / stages;
  };
  const std::int64_t own_ns = mean(false).value_or(0);
  const std::int64_t worker_ns = mean(true).value_or(own_ns);
  for (RecordedStage& stage : run.stages) {
    if (stage.uses_workers()) {
      stage.wake_ns = worker_ns;
    } else if (stage.wake_ns == 0) {
      stage.wake_ns = own_ns;
    }
  }
}

void check_shape(const RecordedRun& run) {
  double total_ns = 0;
  for (const RecordedStage& stage : run.stages) {
    if ((stage.role == Role::source) != stage.inputs.empty() || (stage.role == Role::sink) != stage.outputs.empty())
      refuse(fmt::format("the links of '{}' do not fit a {}", stage.name, name_of(stage.role)));
    for (const auto& script : {stage.calls, stage.finishes})
      for (const RecordedCall& call : script->calls())
        total_ns += static_cast<double>(call.cpu_ns) + static_cast<double>(call.io_ns + call.other_ns + call.child_ns);
    total_ns += static_cast<double>(stage.hand_over_ns + stage.wake_ns) *
                static_cast<double>(stage.calls->groups() + stage.finishes->groups());
    if (stage.role == Role::source && stage.calls->groups() == 0)
      refuse("nothing is recorded of the source '" + stage.name + "'");
  }
  if (run.stages.empty()) refuse("it has no stages");
  if (total_ns > kMaxTotalNs) refuse("its times make no sense");
}

}  // namespace

RecordedRun recorded_run(const RunReport& report) {
  if (report.status != "ok")
    throw config_error(fmt::format("the run ended as '{}': what it would have done with other settings cannot be told",
                                   report.status));
  if (report.threads > kMaxThreads) refuse("it has too many threads");
  RecordedRun run;
  run.threads = std::max(1U, report.threads);
  run.cores = report.environment.cpus == 0 ? run.threads : report.environment.cpus;
  for (const StageReport& stage : report.stages) run.stages.push_back(stage_of(stage));
  add_links(report, run);
  set_wakes(run);
  check_shape(run);
  return run;
}

double chunk_rate(const RunReport& report) {
  std::uint64_t chunks = 0;
  for (const StageReport& stage : report.stages)
    if (stage.role == Role::source) chunks += stage.chunks_out;
  return report.wall_ns <= 0 ? 0 : static_cast<double>(chunks) * 1e9 / static_cast<double>(report.wall_ns);
}

}  // namespace millrace
