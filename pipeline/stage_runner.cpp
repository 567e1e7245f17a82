#include "pipeline/stage_runner.h"

#include <algorithm>
#include <utility>

#include "pipeline/core/call_context.h"

namespace millrace {
namespace {

/// Turns between which the memory of a long one halves: long calls that come seldom must be sampled too, and before
/// they begin.
constexpr std::int64_t kLongestDecay = 64;
/// Turns of this many calls are made of calls of some 100 ns (the graph sizes turns by time).
constexpr std::uint32_t kCoarseCount = 16;

std::int64_t scaled(std::int64_t total, std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(total) *
                                   (static_cast<double>(part) / static_cast<double>(whole)));
}

}  // namespace

void BusyTally::add(const BusyTally& other) {
  wall_ns += other.wall_ns;
  io_wait_ns += other.io_wait_ns;
  sampled_wall_ns += other.sampled_wall_ns;
  sampled_cpu_ns += other.sampled_cpu_ns;
  sampled_delay_ns += other.sampled_delay_ns;
  sampled_io_wait_ns += other.sampled_io_wait_ns;
  sampled_fault_wait_ns += other.sampled_fault_wait_ns;
  turns += other.turns;
  calls += other.calls;
  samples += other.samples;
  sampled_calls += other.sampled_calls;
  major_faults += other.major_faults;
  copied_bytes += other.copied_bytes;
}

BusySplit split_busy(std::int64_t busy_ns, const BusyTally& tally) {
  BusySplit split;
  std::int64_t left = busy_ns;
  const auto take = [&left](std::int64_t wanted) {
    const std::int64_t got = std::clamp<std::int64_t>(wanted, 0, left);
    left -= got;
    return got;
  };
  // I/O waits are counted in every call, so they are not scaled; the rest is divided as in the sampled turns.
  const std::int64_t io_ns = std::min(tally.io_wait_ns, busy_ns);
  const std::int64_t rest_ns = busy_ns - io_ns;
  const std::int64_t sampled_rest_ns = tally.sampled_wall_ns - tally.sampled_io_wait_ns;
  if (tally.sampled_wall_ns == 0) {
    split.io_wait_ns = take(io_ns);
    split.on_cpu_ns = left;  // calls too short to be sampled even once do not wait
    return split;
  }
  split.on_cpu_ns = take(scaled(rest_ns, std::min(tally.sampled_cpu_ns, sampled_rest_ns), sampled_rest_ns));
  split.io_wait_ns = take(io_ns + scaled(rest_ns, tally.sampled_fault_wait_ns, sampled_rest_ns));
  split.run_delay_ns = take(scaled(rest_ns, tally.sampled_delay_ns, sampled_rest_ns));
  split.other_wait_ns = left;
  return split;
}

StageRunner::StageRunner(Stage& stage, Role role, Lender* lender, Clock& clock, std::stop_token stop,
                         std::int64_t sample_every_ns)
    : stage_(stage),
      role_(role),
      lender_(lender),
      clock_(clock),
      stop_(std::move(stop)),
      sample_every_ns_(sample_every_ns) {}

bool StageRunner::worth_sampling() { return unsampled_ns_ + recent_longest_ns_ >= sample_every_ns_; }

BusyTally StageRunner::run(Firing& firing, Sink::End end) {
  CallContext& context = call_context();
  context.lender = lender_;
  if (context.stop != stop_) context.stop = stop_;
  context.tally = {};
  processed_ = 0;

  // Touching the memory of a mapped file may wait for its device, whatever the fault is called.
  const BufferBlock* const block = firing.inputs.empty() ? nullptr : firing.inputs.front().buffer().block();
  const bool mapped = block != nullptr && block->read_only;
  const bool sampled = worth_sampling();
  const ThreadUsage before = sampled ? clock_.thread_usage() : ThreadUsage{};
  const std::int64_t start_ns = clock_.now_ns();
  last_ns_ = start_ns;
  make_calls(firing, end);
  if (const LostPage* const lost = context.tally.lost_page) {
    throw Error("the mapped file ended or could not be read here").at_path(lost->path.data()).at_offset(lost->offset);
  }
  const std::int64_t wall_ns = last_ns_ - start_ns;

  BusyTally tally;
  tally.wall_ns = wall_ns;
  tally.io_wait_ns = std::min(context.tally.io_wait_ns, wall_ns);
  tally.turns = 1;
  tally.calls = std::max<std::uint32_t>(processed_, 1);
  tally.copied_bytes = context.tally.copied_bytes;
  recent_longest_ns_ = std::max(wall_ns, recent_longest_ns_ - recent_longest_ns_ / kLongestDecay);
  unsampled_ns_ += wall_ns;
  if (sampled) {
    const ThreadUsage after = clock_.thread_usage();
    unsampled_ns_ = 0;
    tally.samples = 1;
    tally.sampled_calls = tally.calls;
    tally.sampled_wall_ns = wall_ns;
    tally.sampled_cpu_ns = std::min(after.cpu_ns - before.cpu_ns, wall_ns);
    tally.sampled_delay_ns = after.run_delay_ns - before.run_delay_ns;
    tally.sampled_io_wait_ns = tally.io_wait_ns;
    tally.major_faults = static_cast<std::uint64_t>(after.major_faults - before.major_faults);
    if (tally.major_faults != 0 || (mapped && after.minor_faults != before.minor_faults)) {
      // A wait that nothing else explains, in a turn that had to fetch pages from the disk, was for the disk.
      const std::int64_t explained = tally.sampled_cpu_ns + tally.sampled_delay_ns + tally.sampled_io_wait_ns;
      tally.sampled_fault_wait_ns = std::max<std::int64_t>(wall_ns - explained, 0);
    }
  }
  context.lender = nullptr;
  return tally;
}

void StageRunner::make_calls(Firing& firing, Sink::End end) {
  if (firing.count >= kCoarseCount) {
    // A stamp per call would cost as much as the calls: the turn is timed as a whole.
    const std::int64_t start_ns = last_ns_;
    for (std::uint32_t n = 0; n < firing.count && !firing.ended; ++n) {
      one_call(firing, n, end);
      ++processed_;
    }
    last_ns_ = clock_.now_ns();
    call_times_.record((last_ns_ - start_ns) / processed_, processed_);
    return;
  }
  for (std::uint32_t n = 0; n < firing.count && !firing.ended; ++n) {
    one_call(firing, n, end);
    const std::int64_t now_ns = clock_.now_ns();
    call_times_.record(now_ns - last_ns_);
    last_ns_ = now_ns;
    ++processed_;
  }
}

void StageRunner::one_call(Firing& firing, std::uint32_t n, Sink::End end) {
  if (role_ == Role::sink) {
    auto& sink = static_cast<Sink&>(stage_);
    if (firing.kind == Firing::Kind::call) {
      sink.consume(std::move(firing.inputs[n]));
    } else {
      sink.finish(end);
      firing.ended = true;
    }
    return;
  }
  std::optional<Chunk> output = ask_for_output(firing, n);
  if (output) {
    firing.outputs.push_back(std::move(*output));
  } else {
    firing.ended = role_ == Role::source || firing.kind != Firing::Kind::call;
  }
}

std::optional<Chunk> StageRunner::ask_for_output(Firing& firing, std::uint32_t n) {
  if (role_ == Role::source) return static_cast<Source&>(stage_).produce(firing.first_index + n);
  auto& transform = static_cast<Transform&>(stage_);
  switch (firing.kind) {
    case Firing::Kind::call:
      return transform.process(std::move(firing.inputs[n]));
    case Firing::Kind::more:
      return transform.more();
    case Firing::Kind::finish:
      return transform.finish();
  }
  return std::nullopt;
}

}  // namespace millrace
