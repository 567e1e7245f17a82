#include "pipeline/wait_ledger.h"

#include <algorithm>
#include <utility>

namespace millrace {

SlotCounts classify(std::uint32_t slots, std::uint32_t busy, std::uint64_t inputs, std::uint64_t credits, bool ended) {
  SlotCounts counts;
  counts.busy = busy;
  const std::uint32_t idle = slots - busy;
  counts.ready = static_cast<std::uint32_t>(std::min<std::uint64_t>({idle, inputs, credits}));
  counts.blocked = static_cast<std::uint32_t>(std::min<std::uint64_t>(idle - counts.ready, inputs - counts.ready));
  const std::uint32_t rest = idle - counts.ready - counts.blocked;
  (ended ? counts.done : counts.starved) = rest;
  return counts;
}

WaitLedger::WaitLedger(const std::vector<std::uint32_t>& slots_by_stage, const std::vector<LinkEnds>& links,
                       std::int64_t start_ns)
    : blame_since_ns_(start_ns), latest_ns_(start_ns) {
  for (const std::uint32_t slots : slots_by_stage) {
    StageEntry entry;
    entry.state.counts.starved = slots;
    entry.since_ns = start_ns;
    entry.kind_since_ns = start_ns;
    entry.blame.assign(slots_by_stage.size() + 1, 0);
    stages_.push_back(std::move(entry));
  }
  for (const auto& ends : links) links_.push_back({ends, 0, 0});
}

void WaitLedger::set(std::size_t stage, std::int64_t at_ns, const State& state, std::uint64_t chunk) {
  StageEntry& entry = stages_[stage];
  if (entry.state == state) return;
  ++changes_;
  at_ns = std::max(at_ns, latest_ns_);
  latest_ns_ = at_ns;
  settle_blame(at_ns);
  settle(entry, at_ns);
  if (kind(entry.state) != kind(state)) {
    note_stall(stage, at_ns, chunk);
    entry.kind_since_ns = at_ns;
  }
  entry.state = state;
  // A chain runs through the changed stage only if it waits or waited; recomputing all is cheaper than finding out.
  for (std::size_t i = 0; i < stages_.size(); ++i) stages_[i].root = find_root(i);
}

void WaitLedger::settle(StageEntry& entry, std::int64_t at_ns) {
  const std::int64_t elapsed = at_ns - entry.since_ns;
  entry.since_ns = at_ns;
  const SlotCounts& counts = entry.state.counts;
  entry.times.busy_ns += elapsed * counts.busy;
  entry.times.starved_ns += elapsed * counts.starved;
  entry.times.blocked_ns += elapsed * counts.blocked;
  entry.times.ready_ns += elapsed * counts.ready;
  entry.times.done_ns += elapsed * counts.done;
  if (counts.starved != 0 && entry.state.empty_link != kNone) {
    links_[entry.state.empty_link].starved_ns += elapsed * counts.starved;
  }
  if (counts.blocked != 0 && entry.state.full_link != kNone) {
    links_[entry.state.full_link].blocked_ns += elapsed * counts.blocked;
  }
}

void WaitLedger::settle_blame(std::int64_t at_ns) {
  const std::int64_t elapsed = at_ns - blame_since_ns_;
  if (elapsed == 0) return;
  blame_since_ns_ = at_ns;
  for (auto& entry : stages_) {
    const SlotCounts& counts = entry.state.counts;
    const std::uint32_t waiting = counts.starved + counts.blocked;
    if (waiting != 0) entry.blame[entry.root == kNone ? stages_.size() : entry.root] += elapsed * waiting;
    if (counts.ready != 0) entry.blame[stages_.size()] += elapsed * counts.ready;
  }
}

char WaitLedger::kind(const State& state) {
  if (state.counts.busy != 0) return 'c';
  if (state.counts.blocked != 0) return 'b';
  if (state.counts.ready != 0) return 'r';
  if (state.counts.starved != 0) return 's';
  return 'd';
}

std::size_t WaitLedger::neighbour(const State& state) const {
  // Blocked is asked first: a stage that has work and no room is held up from below, whatever its other slots lack.
  if (state.counts.blocked != 0 && state.full_link != kNone) return links_[state.full_link].ends.to;
  if (state.counts.starved != 0 && state.empty_link != kNone) return links_[state.empty_link].ends.from;
  return kNone;
}

std::size_t WaitLedger::find_root(std::size_t stage) const {
  std::size_t at = neighbour(stages_[stage].state);
  for (std::size_t steps = 0; at != kNone && steps < stages_.size(); ++steps) {
    const State& state = stages_[at].state;
    if (kind(state) == 'c' || kind(state) == 'd') return at;
    const std::size_t next = neighbour(state);
    if (next == kNone || next == stage) return kind(state) == 'r' ? kNone : at;
    at = next;
  }
  return at;
}

std::vector<WaitLedger::Stall::Link> WaitLedger::cause_chain(std::size_t stage) const {
  std::vector<Stall::Link> chain;
  for (std::size_t at = neighbour(stages_[stage].state); at != kNone && chain.size() < stages_.size();
       at = neighbour(stages_[at].state)) {
    const StageEntry& entry = stages_[at];
    chain.push_back({at, kind(entry.state), entry.kind_since_ns});
    if (chain.back().state == 'c' || chain.back().state == 'd') break;
  }
  return chain;
}

void WaitLedger::note_stall(std::size_t stage, std::int64_t at_ns, std::uint64_t chunk) {
  const StageEntry& entry = stages_[stage];
  const char was = kind(entry.state);
  const std::int64_t length = at_ns - entry.kind_since_ns;
  if (was == 'c' || was == 'd' || length <= shortest_kept_ns_) return;
  if (stalls_.size() == kStallsKept) {
    const auto shortest = std::min_element(stalls_.begin(), stalls_.end(),
                                           [](const Stall& a, const Stall& b) { return a.length_ns < b.length_ns; });
    *shortest = std::move(stalls_.back());
    stalls_.pop_back();
  }
  stalls_.push_back({stage, was, entry.kind_since_ns, length, chunk, cause_chain(stage)});
  if (stalls_.size() == kStallsKept) {
    shortest_kept_ns_ = std::min_element(stalls_.begin(), stalls_.end(), [](const Stall& a, const Stall& b) {
                          return a.length_ns < b.length_ns;
                        })->length_ns;
  }
}

StateTimes WaitLedger::times(std::size_t stage, std::int64_t at_ns) const {
  const StageEntry& entry = stages_[stage];
  const std::int64_t elapsed = std::max(at_ns, entry.since_ns) - entry.since_ns;
  StateTimes times = entry.times;
  times.busy_ns += elapsed * entry.state.counts.busy;
  times.starved_ns += elapsed * entry.state.counts.starved;
  times.blocked_ns += elapsed * entry.state.counts.blocked;
  times.ready_ns += elapsed * entry.state.counts.ready;
  times.done_ns += elapsed * entry.state.counts.done;
  return times;
}

std::int64_t WaitLedger::starved_ns(std::size_t link, std::int64_t at_ns) const {
  const StageEntry& entry = stages_[links_[link].ends.to];
  const std::int64_t open = entry.state.empty_link == link ? entry.state.counts.starved : 0;
  return links_[link].starved_ns + open * (std::max(at_ns, entry.since_ns) - entry.since_ns);
}

std::int64_t WaitLedger::blocked_ns(std::size_t link, std::int64_t at_ns) const {
  const StageEntry& entry = stages_[links_[link].ends.from];
  const std::int64_t open = entry.state.full_link == link ? entry.state.counts.blocked : 0;
  return links_[link].blocked_ns + open * (std::max(at_ns, entry.since_ns) - entry.since_ns);
}

std::int64_t WaitLedger::blame_ns(std::size_t waiting, std::size_t cause, std::int64_t at_ns) const {
  const StageEntry& entry = stages_[waiting];
  const SlotCounts& counts = entry.state.counts;
  const std::int64_t elapsed = std::max(at_ns, blame_since_ns_) - blame_since_ns_;
  std::int64_t open = 0;
  if (entry.root == cause) open += counts.starved + counts.blocked;
  if (cause == kNone) open += counts.ready;
  return entry.blame[cause == kNone ? stages_.size() : cause] + open * elapsed;
}

std::vector<WaitLedger::Stall> WaitLedger::longest_stalls() const {
  std::vector<Stall> sorted = stalls_;
  std::sort(sorted.begin(), sorted.end(), [](const Stall& a, const Stall& b) { return a.length_ns > b.length_ns; });
  return sorted;
}

}  // namespace millrace
