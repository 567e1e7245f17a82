#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/core/chunk.h"
#include "pipeline/core/registry.h"
#include "pipeline/link.h"
#include "pipeline/report.h"
#include "pipeline/wait_ledger.h"

namespace millrace {

/// One turn of one slot: what it may take, and what came of it. Owned by FlowState, one per slot, reused for ever, so a
/// turn allocates nothing. Between claim() and complete() it belongs to the thread that claimed it.
struct Firing {
  enum class Kind {
    call,    ///< produce, process or consume `count` chunks
    more,    ///< one call of more() for the input of the call before
    finish,  ///< one call of finish()
  };

  std::size_t stage = 0;
  std::uint32_t slot = 0;
  Kind kind = Kind::call;
  std::uint32_t count = 0;        ///< chunks to take (or to produce); 1 for more and finish
  std::uint64_t first_index = 0;  ///< number of the first chunk among all that the stage took or produced
  std::vector<Chunk> inputs;      ///< filled by take_inputs()
  std::vector<Chunk> outputs;     ///< what the calls returned, in order
  bool ended = false;             ///< a source, more() or finish() returned nothing: set by the caller

  // --- of FlowState
  std::vector<std::uint64_t> output_bytes;  ///< of `outputs`, which are gone once they are pushed
  std::uint64_t ticket = 0;                 ///< turn in the order of the stage's output
  std::size_t input_link = 0;
  bool pushed = false;  ///< give_outputs() has put the outputs into the ring already
};

/// The state of the flow through the whole graph and the rule of who may fire: a slot fires when it has input, a credit
/// in every blocking output link, and is free. Credits are reserved by claim(), so nobody who runs ever waits for room.
///
/// Pure: no thread, lock, clock or TBB inside. The graph calls it under one lock; tests drive it with made-up times.
/// Only take_inputs() and give_outputs() are called outside the lock, by the owner of the firing.
///
/// Order: each turn of a stage gets a ticket when it starts, in the order of its input. Outputs enter the output links
/// by ticket: a turn that ends early keeps its outputs and their credits (its slot is free at once), a turn that yields
/// nothing passes its place on. The oldest unfinished turn always holds a credit, so the order cannot deadlock.
class FlowState {
 public:
  struct StageShape {
    Role role = Role::transform;
    std::uint32_t slots = 1;
    bool ordered = true;
    bool splits = false;
    std::vector<std::size_t> inputs;   ///< links
    std::vector<std::size_t> outputs;  ///< links
  };
  struct LinkShape {
    std::size_t from = 0;
    std::size_t to = 0;
    Link::Bounds bounds;
    std::uint64_t max_chunk_bytes = 0;
  };
  struct Counters {
    std::uint64_t chunks_in = 0;
    std::uint64_t chunks_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t processed = 0;    ///< of chunks_in, those whose call returned
    std::uint64_t failed = 0;       ///< whose call threw
    std::uint64_t unprocessed = 0;  ///< that were taken together with one that failed
    std::uint64_t discarded = 0;    ///< on their way into this stage when the run was stopped
  };

  FlowState(std::vector<StageShape> stages, const std::vector<LinkShape>& links, std::int64_t start_ns);

  /// Whether claim() would give a turn now. Not up to date for the stage of the latest complete() before settle().
  bool can_fire(std::size_t stage) const { return (fireable_[stage / 64] >> (stage % 64) & 1U) != 0; }
  /// Same, as bits of stages 64*word ... 64*word+63.
  std::uint64_t fireable(std::size_t word) const { return fireable_[word]; }
  std::size_t words() const { return fireable_.size(); }

  static constexpr std::uint32_t kAnySlot = static_cast<std::uint32_t>(-1);
  /// A turn for stage number `index` with at most `most` chunks, or null. `slot`: only for this slot (threads that are
  /// a slot).
  Firing* claim(std::size_t index, std::uint32_t slot, std::uint32_t most, std::int64_t now_ns);
  /// Outside the lock, after claim(): moves the inputs into the firing, if claim() did not do it.
  void take_inputs(Firing& firing);
  /// Outside the lock, before complete(): moves the outputs into the ring where that is safe, numbers them.
  void give_outputs(Firing& firing);
  /// The turn is over. The slot's next state is left open until claim() or settle(), which must follow at the same
  /// time: a slot that goes straight on is busy without a break, and costs the ledger nothing.
  void complete(Firing& firing, std::int64_t now_ns);
  /// Says that nobody claims the next turn of the stage completed last.
  void settle(std::int64_t now_ns);
  /// The turn failed in the call for its input number `processed`; its outputs are discarded. The run must end: the
  /// stage never gets on from here.
  void abandon(Firing& firing, std::uint32_t processed, std::int64_t now_ns);

  /// All sources end their stream now.
  void drain(std::int64_t now_ns);
  /// True once the stage will never fire again.
  bool ended(std::size_t stage) const { return stages_[stage].ended; }
  std::size_t ended_stages() const { return ended_stages_; }
  bool all_ended() const { return ended_stages_ == stages_.size(); }
  /// True when the links around the stage are at least half on the side that lets it work: half full before it, half
  /// empty behind it.
  bool worth_waking(std::size_t index) const;
  /// Idle slots with a turn waiting for them.
  std::uint32_t ready(std::size_t stage) const { return ledger_.state(stage).counts.ready; }

  /// Discards every chunk that still waits in a link or for its turn, and counts it. Only when no firing is out.
  void discard(std::int64_t now_ns);

  const WaitLedger& ledger() const { return ledger_; }
  const Link& link(std::size_t link) const { return *links_[link].body; }
  const Counters& counters(std::size_t stage) const { return stages_[stage].counters; }
  std::size_t stage_count() const { return stages_.size(); }
  std::size_t link_count() const { return links_.size(); }
  const StageShape& shape(std::size_t stage) const { return stages_[stage].shape; }

 private:
  /// Outputs of a finished turn that waits for older ones.
  struct Parked {
    std::vector<Chunk> outputs;
    std::vector<std::uint64_t> output_bytes;
    bool present = false;
    bool continues = false;  ///< the turn's slot waits to call more()
  };
  struct StageEntry {
    StageShape shape;
    std::vector<Firing> slots;
    std::vector<std::uint32_t> free_slots;  // idle, not in the middle of a turn
    std::vector<bool> slot_free;            // the same by slot
    std::vector<Firing*> continuing;        // slots between two calls of one turn
    std::vector<Parked> parked;             // by ticket modulo size
    std::vector<std::size_t> arrivals;      // fan-in: ring of input links in order of arrival
    std::uint64_t first_arrival = 0;
    std::uint64_t arrival_count = 0;
    std::uint32_t busy = 0;
    std::uint32_t finished_slots = 0;
    std::uint64_t next_index = 0;
    std::uint64_t next_ticket = 0;
    std::uint64_t next_commit = 0;
    std::uint64_t next_sequence = 0;
    bool input_ended = false;
    bool ended = false;
    Counters counters;
  };
  struct LinkEntry {
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint64_t max_chunk_bytes = 0;
    std::unique_ptr<Link> body;
  };
  /// What a stage could do now.
  struct Outlook {
    std::uint64_t inputs = 0;
    std::uint64_t credits = 0;
    std::size_t full_link = WaitLedger::kNone;
    bool continues = false;  ///< the oldest turn goes on, with a credit
    bool finishes = false;   ///< finish() is due, with a credit
  };

  static bool keeps_order(const StageEntry& stage) {
    return stage.shape.ordered && stage.shape.slots > 1 && !stage.shape.outputs.empty();
  }
  Outlook outlook(const StageEntry& stage) const;
  std::uint64_t waiting_inputs(const StageEntry& stage) const;
  std::size_t empty_link(const StageEntry& stage) const;
  static bool finish_due(const StageEntry& stage);

  Firing* claim_next_call(StageEntry& stage, std::int64_t now_ns);
  Firing* claim_finish(StageEntry& stage, std::uint32_t slot, std::int64_t now_ns);
  Firing* claim_call(StageEntry& stage, std::uint32_t slot, std::uint32_t most, const Outlook& outlook,
                     std::int64_t now_ns);
  std::uint32_t claim_inputs(StageEntry& stage, Firing& firing, std::uint64_t most, std::int64_t now_ns);
  static void take_slot(StageEntry& stage, std::uint32_t slot);
  void reserve(const StageEntry& stage, std::uint64_t chunks, std::int64_t now_ns);
  void release(const StageEntry& stage, std::uint64_t chunks, std::int64_t now_ns);

  void complete_turn(StageEntry& stage, Firing& firing, bool continues, std::int64_t now_ns);
  void park(StageEntry& stage, Firing& firing, bool continues);
  void commit_parked(StageEntry& stage, std::int64_t now_ns);
  void commit(StageEntry& stage, std::vector<Chunk>& outputs, std::vector<std::uint64_t>& sizes, bool pushed,
              std::int64_t now_ns);
  void enter(std::size_t index, Chunk* chunk, std::uint64_t bytes, std::int64_t now_ns);
  void discard_outputs(StageEntry& stage, std::vector<Chunk>& outputs, std::vector<std::uint64_t>& sizes);
  void settle_end(std::size_t index);
  void refresh(std::size_t index, std::int64_t now_ns);
  void refresh_neighbours(std::size_t index, std::int64_t now_ns);

  std::vector<StageEntry> stages_;
  std::vector<LinkEntry> links_;
  std::vector<std::uint64_t> fireable_;
  std::vector<Chunk> dropped_;  // on their way out; kept for its memory
  std::size_t ended_stages_ = 0;
  std::size_t open_ = WaitLedger::kNone;  // stage whose state complete() left open
  WaitLedger ledger_;
};

}  // namespace millrace
