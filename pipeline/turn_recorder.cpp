#include "pipeline/turn_recorder.h"

#include <algorithm>

namespace millrace {
namespace {

StageRecord::Kind kind_of(Firing::Kind kind) {
  switch (kind) {
    case Firing::Kind::more:
      return StageRecord::Kind::more;
    case Firing::Kind::finish:
      return StageRecord::Kind::finish;
    case Firing::Kind::call:
      break;
  }
  return StageRecord::Kind::call;
}

/// What is known of a turn around which the CPU clocks were read: the parts as in split_busy(), without run delay.
void divide(StageRecord::Turn& turn, const BusyTally& tally) {
  const BusySplit split = split_busy(tally.wall_ns, tally);
  turn.cpu_ns = split.on_cpu_ns;
  turn.io_ns = split.io_wait_ns;
  turn.other_ns = split.other_wait_ns;
}

/// Of the others only the I/O wait is known; what is left is divided as in the stage as a whole.
void divide(StageRecord::Turn& turn, const BusySplit& whole) {
  const std::int64_t rest_ns = turn.other_ns;
  const std::int64_t whole_ns = whole.on_cpu_ns + whole.run_delay_ns + whole.other_wait_ns;
  if (whole_ns <= 0) {
    turn.cpu_ns = rest_ns;
    turn.other_ns = 0;
    return;
  }
  const auto part = [rest_ns, whole_ns](std::int64_t ns) {
    return static_cast<std::int64_t>(static_cast<double>(rest_ns) *
                                     (static_cast<double>(ns) / static_cast<double>(whole_ns)));
  };
  turn.cpu_ns = part(whole.on_cpu_ns);
  turn.other_ns = part(whole.other_wait_ns);
}

}  // namespace

TurnRecorder::TurnRecorder(std::int64_t run_start_ns) : run_start_ns_(run_start_ns) {
  entries_.reserve(StageRecord::kMaxTurns);  // no turn has to wait for the vector to grow
}

void TurnRecorder::add(const Firing& firing, const BusyTally& tally, std::int64_t claimed_ns, std::int64_t end_ns) {
  ++turns_made_;
  hand_overs_.record(end_ns - claimed_ns - tally.wall_ns);
  const std::size_t most = firing.kind == Firing::Kind::finish ? 2 * StageRecord::kMaxTurns : StageRecord::kMaxTurns;
  if (entries_.size() >= most) return;
  Entry& entry = entries_.emplace_back();
  entry.ticket = firing.ticket;
  entry.sampled = tally.samples != 0;
  StageRecord::Turn& turn = entry.turn;
  turn.kind = kind_of(firing.kind);
  turn.calls = static_cast<std::uint32_t>(tally.calls);
  turn.chunks_out = static_cast<std::uint32_t>(firing.output_bytes.size());
  for (const std::uint64_t bytes : firing.output_bytes) turn.bytes_out += bytes;
  turn.at_ns = end_ns - tally.wall_ns - run_start_ns_;
  if (entry.sampled) {
    divide(turn, tally);
  } else {
    turn.io_ns = std::min(tally.io_wait_ns, tally.wall_ns);
    turn.other_ns = tally.wall_ns - turn.io_ns;
  }
}

StageRecord TurnRecorder::record(const BusyTally& stage) const {
  const BusySplit whole = split_busy(stage.wall_ns, stage);
  std::vector<Entry> entries = entries_;
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.ticket < b.ticket; });
  StageRecord record;
  record.turns_made = turns_made_;
  record.hand_over_ns = hand_overs_.quantile_ns(0.5);
  record.wake_ns = wakes_ == 0 ? 0 : std::max<std::int64_t>(waking_ns_ / wakes_, 0);
  record.turns.reserve(entries.size());
  for (Entry& entry : entries) {
    if (!entry.sampled) divide(entry.turn, whole);
    record.turns.push_back(entry.turn);
  }
  return record;
}

}  // namespace millrace
