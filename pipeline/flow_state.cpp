#include "pipeline/flow_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

constexpr std::uint64_t kEndless = std::numeric_limits<std::uint32_t>::max();

/// Turns that may be unfinished at once at the output of an ordered stage. Blocking links bound it by their credits;
/// this bounds it for lossy ones, where a slow turn would otherwise let any number pile up behind it.
std::size_t reorder_window(std::uint32_t slots) { return std::max<std::size_t>(16, 4UL * slots); }

std::vector<std::uint32_t> slots_of(const std::vector<FlowState::StageShape>& stages) {
  std::vector<std::uint32_t> slots;
  slots.reserve(stages.size());
  for (const auto& stage : stages) slots.push_back(stage.slots);
  return slots;
}

std::vector<WaitLedger::LinkEnds> ends_of(const std::vector<FlowState::LinkShape>& links) {
  std::vector<WaitLedger::LinkEnds> ends;
  ends.reserve(links.size());
  for (const auto& link : links) ends.push_back({link.from, link.to});
  return ends;
}

}  // namespace

FlowState::FlowState(std::vector<StageShape> stages, const std::vector<LinkShape>& links, std::int64_t start_ns)
    : fireable_((stages.size() + 63) / 64), ledger_(slots_of(stages), ends_of(links), start_ns) {
  for (const auto& link : links) {
    links_.push_back({link.from, link.to, link.max_chunk_bytes,
                      std::make_unique<Link>(link.bounds, stages[link.from].slots, stages[link.to].slots, start_ns)});
  }
  stages_.resize(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    StageEntry& entry = stages_[i];
    entry.shape = std::move(stages[i]);
    const std::uint32_t slots = entry.shape.slots;
    entry.slots.resize(slots);
    entry.slot_free.assign(slots, true);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      Firing& firing = entry.slots[slot];
      firing.stage = i;
      firing.slot = slot;
      firing.inputs.reserve(kMaxBatch);
      firing.outputs.reserve(kMaxBatch);
      firing.output_bytes.reserve(kMaxBatch);
      entry.free_slots.push_back(slots - 1 - slot);  // slot 0 is taken first
    }
    entry.continuing.reserve(slots);
    if (keeps_order(entry)) {
      entry.parked.resize(reorder_window(slots));
      for (auto& parked : entry.parked) {
        parked.outputs.reserve(kMaxBatch);
        parked.output_bytes.reserve(kMaxBatch);
      }
    }
    if (entry.shape.inputs.size() > 1) {
      std::uint64_t room = 0;
      for (const std::size_t link : entry.shape.inputs) room += links[link].bounds.chunks;
      entry.arrivals.resize(room);
    }
  }
  for (std::size_t i = 0; i < stages_.size(); ++i) refresh(i, start_ns);
}

// --- what could happen ---------------------------------------------------------------------------------------------

std::uint64_t FlowState::waiting_inputs(const StageEntry& stage) const {
  if (stage.shape.role == Role::source) return stage.input_ended ? 0 : kEndless;
  std::uint64_t waiting = 0;
  for (const std::size_t link : stage.shape.inputs) waiting += links_[link].body->waiting();
  return waiting;
}

std::size_t FlowState::empty_link(const StageEntry& stage) const {
  // With several inputs the stage starves for any that is still open; the first of them stands for all.
  for (const std::size_t link : stage.shape.inputs) {
    if (!links_[link].body->closed()) return link;
  }
  return stage.shape.inputs.empty() ? WaitLedger::kNone : stage.shape.inputs.front();
}

bool FlowState::finish_due(const StageEntry& stage) {
  return stage.shape.role != Role::source && stage.input_ended && stage.busy == 0 && stage.continuing.empty() &&
         stage.next_commit == stage.next_ticket && stage.finished_slots < stage.shape.slots;
}

FlowState::Outlook FlowState::outlook(const StageEntry& stage) const {
  Outlook look;
  look.credits = kEndless;
  for (const std::size_t link : stage.shape.outputs) {
    const std::uint64_t credits = links_[link].body->credits();
    if (credits >= look.credits) continue;
    look.credits = credits;
    if (credits == 0) look.full_link = link;
  }
  const std::uint64_t unfinished = stage.next_ticket - stage.next_commit;
  if (keeps_order(stage) && unfinished >= stage.parked.size() && !stage.shape.outputs.empty()) {
    look.credits = 0;
    look.full_link = stage.shape.outputs.front();
  }
  if (!stage.continuing.empty()) {
    const bool in_turn = !keeps_order(stage) || stage.continuing.front()->ticket == stage.next_commit;
    look.continues = in_turn;
    for (const std::size_t link : stage.shape.outputs) {
      if (links_[link].body->credit_in_turn()) continue;
      look.continues = false;
      look.full_link = link;
    }
    // A turn under way goes before a new one: its credit must not be taken from it again and again.
    if (in_turn) look.credits = 0;
    if (look.full_link == WaitLedger::kNone && !look.continues) look.full_link = stage.shape.outputs.front();
  }
  if (finish_due(stage)) {
    look.inputs = 1;
    look.finishes = look.credits != 0;
  } else {
    look.inputs = waiting_inputs(stage);
  }
  return look;
}

void FlowState::refresh(std::size_t index, std::int64_t now_ns) {
  StageEntry& stage = stages_[index];
  if (stage.shape.role != Role::source && !stage.input_ended) {
    stage.input_ended = std::all_of(stage.shape.inputs.begin(), stage.shape.inputs.end(), [this](std::size_t link) {
      return links_[link].body->closed() && links_[link].body->waiting() == 0;
    });
  }
  const Outlook look = outlook(stage);
  const auto between = static_cast<std::uint32_t>(stage.continuing.size());
  WaitLedger::State state;
  state.counts = classify(stage.shape.slots - between - stage.finished_slots, stage.busy, look.inputs, look.credits,
                          stage.input_ended);
  state.counts.done += stage.finished_slots;
  if (between != 0) {
    state.counts.ready += look.continues ? 1 : 0;
    state.counts.blocked += between - (look.continues ? 1 : 0);
  }
  if (state.counts.starved != 0) state.empty_link = empty_link(stage);
  if (state.counts.blocked != 0) state.full_link = look.full_link;
  ledger_.set(index, now_ns, state, stage.next_index);

  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  if (state.counts.ready != 0) {
    fireable_[index / 64] |= bit;
  } else {
    fireable_[index / 64] &= ~bit;
  }
}

void FlowState::refresh_neighbours(std::size_t index, std::int64_t now_ns) {
  for (const std::size_t link : stages_[index].shape.outputs) refresh(links_[link].to, now_ns);
  for (const std::size_t link : stages_[index].shape.inputs) refresh(links_[link].from, now_ns);
}

void FlowState::settle(std::int64_t now_ns) {
  if (open_ != WaitLedger::kNone) refresh(std::exchange(open_, WaitLedger::kNone), now_ns);
}

bool FlowState::worth_waking(std::size_t index) const {
  const StageEntry& stage = stages_[index];
  if (stage.input_ended) return true;
  const auto half_full = [this](std::size_t link) { return links_[link].body->half_full(); };
  const auto half_empty = [this](std::size_t link) { return links_[link].body->half_empty(); };
  const auto& inputs = stage.shape.inputs;
  const auto& outputs = stage.shape.outputs;
  return (inputs.empty() || std::any_of(inputs.begin(), inputs.end(), half_full)) &&
         std::all_of(outputs.begin(), outputs.end(), half_empty);
}

// --- a turn starts -------------------------------------------------------------------------------------------------

Firing* FlowState::claim(std::size_t index, std::uint32_t slot, std::uint32_t most, std::int64_t now_ns) {
  if (open_ != index) settle(now_ns);
  open_ = WaitLedger::kNone;
  StageEntry& stage = stages_[index];
  const Outlook look = outlook(stage);
  Firing* firing = nullptr;
  if (look.continues) {
    firing = claim_next_call(stage, now_ns);
  } else if (look.finishes) {
    firing = claim_finish(stage, slot, now_ns);
  } else {
    firing = claim_call(stage, slot, most, look, now_ns);
  }
  if (firing == nullptr) {
    refresh(index, now_ns);
    return nullptr;
  }
  firing->ended = false;
  firing->pushed = false;
  ++stage.busy;
  // The neighbours first: what ends their wait is this stage's state until now, and the stall report shows it.
  refresh_neighbours(index, now_ns);
  refresh(index, now_ns);
  return firing;
}

Firing* FlowState::claim_next_call(StageEntry& stage, std::int64_t now_ns) {
  Firing* const firing = stage.continuing.front();
  stage.continuing.erase(stage.continuing.begin());
  if (firing->kind == Firing::Kind::call) firing->kind = Firing::Kind::more;
  firing->count = 1;
  reserve(stage, 1, now_ns);
  return firing;
}

Firing* FlowState::claim_finish(StageEntry& stage, std::uint32_t slot, std::int64_t now_ns) {
  if (slot == kAnySlot) slot = stage.finished_slots;  // transforms finish in the order of their slots
  if (!stage.slot_free[slot]) return nullptr;
  take_slot(stage, slot);
  Firing& firing = stage.slots[slot];
  firing.kind = Firing::Kind::finish;
  firing.count = 1;
  firing.ticket = stage.next_ticket++;
  reserve(stage, 1, now_ns);
  return &firing;
}

Firing* FlowState::claim_call(StageEntry& stage, std::uint32_t slot, std::uint32_t most, const Outlook& look,
                              std::int64_t now_ns) {
  if (slot == kAnySlot) {
    if (stage.free_slots.empty()) return nullptr;
    slot = stage.free_slots.back();
  } else if (!stage.slot_free[slot]) {
    return nullptr;
  }
  auto count = std::min<std::uint64_t>({most, kMaxBatch, look.inputs, look.credits});
  if (stage.shape.splits) count = std::min<std::uint64_t>(count, 1);
  if (stage.shape.slots > 1) count = std::min(count, std::max<std::uint64_t>(1, look.inputs / stage.shape.slots));
  for (const std::size_t link : stage.shape.outputs) {
    count = std::min(count, batch_of(links_[link].max_chunk_bytes));
    if (!links_[link].body->lossy()) count = std::min(count, links_[link].body->fitting(links_[link].max_chunk_bytes));
  }
  if (count == 0) return nullptr;
  take_slot(stage, slot);
  Firing& firing = stage.slots[slot];
  firing.kind = Firing::Kind::call;
  firing.count =
      stage.shape.role == Role::source ? static_cast<std::uint32_t>(count) : claim_inputs(stage, firing, count, now_ns);
  firing.first_index = stage.next_index;
  stage.next_index += firing.count;
  firing.ticket = stage.next_ticket++;
  reserve(stage, firing.count, now_ns);
  return &firing;
}

std::uint32_t FlowState::claim_inputs(StageEntry& stage, Firing& firing, std::uint64_t most, std::int64_t now_ns) {
  const bool merges = !stage.arrivals.empty();
  firing.input_link = merges ? stage.arrivals[stage.first_arrival] : stage.shape.inputs.front();
  Link& link = *links_[firing.input_link].body;
  most = std::min(most, batch_of(links_[firing.input_link].max_chunk_bytes));
  std::uint32_t count = 0;
  while (count < most && link.waiting() != 0) {
    if (merges) {
      if (stage.arrivals[stage.first_arrival] != firing.input_link) break;
      stage.first_arrival = (stage.first_arrival + 1) % stage.arrivals.size();
      --stage.arrival_count;
    }
    stage.counters.bytes_in += link.leave(now_ns);
    ++count;
  }
  if (!link.may_pop_outside()) link.pop(count, firing.inputs);
  stage.counters.chunks_in += count;
  return count;
}

void FlowState::take_slot(StageEntry& stage, std::uint32_t slot) {
  stage.slot_free[slot] = false;
  if (stage.free_slots.back() == slot) {
    stage.free_slots.pop_back();
  } else {
    stage.free_slots.erase(std::find(stage.free_slots.begin(), stage.free_slots.end(), slot));
  }
}

void FlowState::reserve(const StageEntry& stage, std::uint64_t chunks, std::int64_t now_ns) {
  for (const std::size_t link : stage.shape.outputs) links_[link].body->reserve(chunks, now_ns);
}

void FlowState::release(const StageEntry& stage, std::uint64_t chunks, std::int64_t now_ns) {
  for (const std::size_t link : stage.shape.outputs) links_[link].body->release(chunks, now_ns);
}

void FlowState::take_inputs(Firing& firing) {
  if (firing.kind != Firing::Kind::call || stages_[firing.stage].shape.role == Role::source) return;
  Link& link = *links_[firing.input_link].body;
  if (link.may_pop_outside()) link.pop(firing.count, firing.inputs);
}

// --- a turn ends ---------------------------------------------------------------------------------------------------

void FlowState::give_outputs(Firing& firing) {
  StageEntry& stage = stages_[firing.stage];
  for (const Chunk& chunk : firing.outputs) firing.output_bytes.push_back(chunk.size_bytes());
  const auto& links = stage.shape.outputs;
  if (stage.shape.slots != 1 || links.empty() || !std::all_of(links.begin(), links.end(), [this](std::size_t link) {
        return links_[link].body->may_push_outside();
      })) {
    return;
  }
  for (Chunk& chunk : firing.outputs) {
    chunk.set_sequence(stage.next_sequence++);
    for (std::size_t i = 0; i + 1 < links.size(); ++i) {
      Chunk copy(chunk);
      links_[links[i]].body->push(copy);
    }
    links_[links.back()].body->push(chunk);
  }
  firing.outputs.clear();
  firing.pushed = true;
}

void FlowState::complete(Firing& firing, std::int64_t now_ns) {
  StageEntry& stage = stages_[firing.stage];
  if (firing.output_bytes.size() > firing.count) throw Error("internal: a turn gave more chunks than it had credits");
  --stage.busy;
  firing.inputs.clear();
  if (firing.kind == Firing::Kind::call && stage.shape.role != Role::source) stage.counters.processed += firing.count;
  bool continues = false;
  if (stage.shape.role == Role::source) {
    stage.input_ended = stage.input_ended || firing.ended;
  } else if (stage.shape.role == Role::transform) {
    continues = firing.kind == Firing::Kind::call ? stage.shape.splits && !firing.output_bytes.empty() : !firing.ended;
  }
  if (!keeps_order(stage) || firing.ticket == stage.next_commit) {
    complete_turn(stage, firing, continues, now_ns);
  } else {
    release(stage, firing.count - firing.output_bytes.size(), now_ns);
    park(stage, firing, continues);
  }
  settle_end(firing.stage);
  refresh_neighbours(firing.stage, now_ns);
  if (open_ != firing.stage) settle(now_ns);
  open_ = firing.stage;
}

void FlowState::abandon(Firing& firing, std::uint32_t processed, std::int64_t now_ns) {
  StageEntry& stage = stages_[firing.stage];
  --stage.busy;
  if (firing.kind == Firing::Kind::call && stage.shape.role != Role::source) {
    stage.counters.processed += processed;
    ++stage.counters.failed;
    stage.counters.unprocessed += firing.count - processed - 1;
  }
  firing.inputs.clear();
  discard_outputs(stage, firing.outputs, firing.output_bytes);
  refresh_neighbours(firing.stage, now_ns);
  refresh(firing.stage, now_ns);
}

void FlowState::complete_turn(StageEntry& stage, Firing& firing, bool continues, std::int64_t now_ns) {
  release(stage, firing.count - firing.output_bytes.size(), now_ns);
  commit(stage, firing.outputs, firing.output_bytes, firing.pushed, now_ns);
  if (continues) {
    stage.continuing.insert(stage.continuing.begin(), &firing);
    return;
  }
  ++stage.next_commit;
  if (firing.kind == Firing::Kind::finish) {
    ++stage.finished_slots;
  } else {
    stage.slot_free[firing.slot] = true;
    stage.free_slots.push_back(firing.slot);
  }
  if (keeps_order(stage)) commit_parked(stage, now_ns);
}

void FlowState::park(StageEntry& stage, Firing& firing, bool continues) {
  Parked& parked = stage.parked[firing.ticket % stage.parked.size()];
  parked.present = true;
  parked.continues = continues;
  std::swap(parked.outputs, firing.outputs);
  std::swap(parked.output_bytes, firing.output_bytes);
  for (const std::size_t link : stage.shape.outputs) {
    for (const std::uint64_t bytes : parked.output_bytes) links_[link].body->hold_bytes(bytes);
  }
  if (continues) {
    const auto place = std::find_if(stage.continuing.begin(), stage.continuing.end(),
                                    [&firing](const Firing* other) { return other->ticket > firing.ticket; });
    stage.continuing.insert(place, &firing);
  } else {
    stage.slot_free[firing.slot] = true;
    stage.free_slots.push_back(firing.slot);
  }
}

void FlowState::commit_parked(StageEntry& stage, std::int64_t now_ns) {
  for (;;) {
    Parked& parked = stage.parked[stage.next_commit % stage.parked.size()];
    if (!parked.present) return;
    parked.present = false;
    for (const std::size_t link : stage.shape.outputs) {
      for (const std::uint64_t bytes : parked.output_bytes) links_[link].body->unhold_bytes(bytes);
    }
    commit(stage, parked.outputs, parked.output_bytes, false, now_ns);
    if (parked.continues) return;  // it is the oldest now, and goes on with more()
    ++stage.next_commit;
  }
}

void FlowState::commit(StageEntry& stage, std::vector<Chunk>& outputs, std::vector<std::uint64_t>& sizes, bool pushed,
                       std::int64_t now_ns) {
  const auto& links = stage.shape.outputs;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    ++stage.counters.chunks_out;
    stage.counters.bytes_out += sizes[n];
    if (pushed) {
      for (const std::size_t link : links) enter(link, nullptr, sizes[n], now_ns);
      continue;
    }
    outputs[n].set_sequence(stage.next_sequence++);
    for (std::size_t i = 0; i + 1 < links.size(); ++i) {
      Chunk copy(outputs[n]);
      enter(links[i], &copy, sizes[n], now_ns);
    }
    if (!links.empty()) enter(links.back(), &outputs[n], sizes[n], now_ns);
  }
  outputs.clear();
  sizes.clear();
}

void FlowState::enter(std::size_t index, Chunk* chunk, std::uint64_t bytes, std::int64_t now_ns) {
  Link& link = *links_[index].body;
  StageEntry& consumer = stages_[links_[index].to];
  if (link.lossy() && link.full()) {
    link.count_drop();
    if (link.when_full() == WhenFull::drop_newest || link.waiting() == 0) return;
    link.leave(now_ns);
    link.pop(1, dropped_);
    dropped_.clear();
    if (!consumer.arrivals.empty()) {
      // The oldest arrival of this link goes; the others keep their order.
      std::uint64_t at = 0;
      const auto size = consumer.arrivals.size();
      while (consumer.arrivals[(consumer.first_arrival + at) % size] != index) ++at;
      for (; at + 1 < consumer.arrival_count; ++at) {
        consumer.arrivals[(consumer.first_arrival + at) % size] =
            consumer.arrivals[(consumer.first_arrival + at + 1) % size];
      }
      --consumer.arrival_count;
    }
  }
  if (chunk != nullptr) link.push(*chunk);
  link.enter(bytes, true, now_ns);
  if (!consumer.arrivals.empty()) {
    consumer.arrivals[(consumer.first_arrival + consumer.arrival_count) % consumer.arrivals.size()] = index;
    ++consumer.arrival_count;
  }
}

// --- the end -------------------------------------------------------------------------------------------------------

/// Callers go on with refresh_neighbours(): the consumers must see their closed inputs.
void FlowState::settle_end(std::size_t index) {
  StageEntry& stage = stages_[index];
  if (stage.ended) return;
  if (stage.shape.role == Role::source) {
    if (!stage.input_ended || stage.busy != 0 || stage.next_commit != stage.next_ticket) return;
  } else if (stage.finished_slots != stage.shape.slots) {
    return;
  }
  stage.ended = true;
  ++ended_stages_;
  for (const std::size_t link : stage.shape.outputs) links_[link].body->close();
}

void FlowState::drain(std::int64_t now_ns) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].shape.role != Role::source || stages_[i].input_ended) continue;
    stages_[i].input_ended = true;
    settle_end(i);
    refresh_neighbours(i, now_ns);
    refresh(i, now_ns);
  }
}

void FlowState::discard(std::int64_t now_ns) {
  for (auto& entry : links_) {
    while (entry.body->waiting() != 0) {
      entry.body->leave(now_ns);
      entry.body->pop(1, dropped_);
      dropped_.clear();
      ++stages_[entry.to].counters.discarded;
    }
  }
  for (auto& stage : stages_) {
    for (auto& parked : stage.parked) {
      if (parked.present) discard_outputs(stage, parked.outputs, parked.output_bytes);
      parked.present = false;
    }
  }
}

void FlowState::discard_outputs(StageEntry& stage, std::vector<Chunk>& outputs, std::vector<std::uint64_t>& sizes) {
  stage.counters.chunks_out += outputs.size();  // the stage did make them
  for (const std::size_t link : stage.shape.outputs) stages_[links_[link].to].counters.discarded += outputs.size();
  outputs.clear();
  sizes.clear();
}

}  // namespace millrace
