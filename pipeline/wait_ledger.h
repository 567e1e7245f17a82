#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace millrace {

/// How many slots of one stage are in which state at one moment.
struct SlotCounts {
  std::uint32_t busy = 0;
  std::uint32_t starved = 0;
  std::uint32_t blocked = 0;
  std::uint32_t ready = 0;
  std::uint32_t done = 0;
  bool operator==(const SlotCounts&) const = default;
};

/// The classification of design section 2: `inputs` chunks wait, `credits` chunks have room downstream, `busy` of
/// `slots` slots are in a call. An idle slot is ready while an input and a credit are left for it, blocked while an
/// input is left, starved otherwise; or done when `ended` (no further input can come).
SlotCounts classify(std::uint32_t slots, std::uint32_t busy, std::uint64_t inputs, std::uint64_t credits, bool ended);

/// The slot-time ledger: integrates the states of all stages over time, exactly, in integers. Fed with time stamps;
/// knows no clock, thread or lock. Time stamps that go back are taken as the latest seen.
///
/// Beside the five states it keeps who was empty or full (per link), blame (who made whom wait, followed through any
/// number of waiting stages at every moment) and the longest stalls with their cause chain.
class WaitLedger {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kStallsKept = 10;

  struct LinkEnds {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  /// A stage's moment: the counts, and the links at fault when slots wait (kNone when none do).
  struct State {
    SlotCounts counts;
    std::size_t empty_link = kNone;  ///< why `starved` slots starve
    std::size_t full_link = kNone;   ///< why `blocked` slots are blocked
    bool operator==(const State&) const = default;
  };
  struct Stall {
    std::size_t stage = 0;
    char state = 's';  ///< 's'tarved, 'b'locked, 'r'eady
    std::int64_t start_ns = 0;
    std::int64_t length_ns = 0;
    std::uint64_t chunk = 0;  ///< as given to set() by the caller when the stall ended
    struct Link {
      std::size_t stage = 0;
      char state = 'c';           ///< as above, or 'c' for "in a call"
      std::int64_t since_ns = 0;  ///< when the stage entered this state
    };
    std::vector<Link> cause;  ///< from the waiting stage's neighbour to the stage at the root
  };

  /// All slots are starved until set() says otherwise.
  WaitLedger(const std::vector<std::uint32_t>& slots_by_stage, const std::vector<LinkEnds>& links,
             std::int64_t start_ns);

  /// From `at_ns` on, `stage` is in `state`. Cheap when nothing changed. `chunk`: number of the stage's next chunk.
  void set(std::size_t stage, std::int64_t at_ns, const State& state, std::uint64_t chunk);

  /// Totals up to `at_ns` (not before the last set()).
  StateTimes times(std::size_t stage, std::int64_t at_ns) const;
  std::int64_t starved_ns(std::size_t link, std::int64_t at_ns) const;
  std::int64_t blocked_ns(std::size_t link, std::int64_t at_ns) const;
  /// Slot time that `waiting` waited because of `cause`; cause kNone = no worker was free.
  std::int64_t blame_ns(std::size_t waiting, std::size_t cause, std::int64_t at_ns) const;
  /// Longest first; stalls that still last are not among them.
  std::vector<Stall> longest_stalls() const;
  const State& state(std::size_t stage) const { return stages_[stage].state; }
  /// The stages that `stage` waits for, nearest first; empty when it does not wait.
  std::vector<Stall::Link> cause_chain(std::size_t stage) const;
  std::int64_t latest_ns() const { return latest_ns_; }
  /// Calls of set() that changed something so far.
  std::uint64_t changes() const { return changes_; }

 private:
  struct StageEntry {
    State state;
    StateTimes times;
    std::int64_t since_ns = 0;        ///< `times` holds everything before this
    std::int64_t kind_since_ns = 0;   ///< since when the stage is in its kind() of state
    std::size_t root = kNone;         ///< whom its waiting slots wait for at the end of the chain
    std::vector<std::int64_t> blame;  ///< by cause; last entry = no worker
  };
  struct LinkEntry {
    LinkEnds ends;
    std::int64_t starved_ns = 0;
    std::int64_t blocked_ns = 0;
  };

  static char kind(const State& state);
  std::size_t neighbour(const State& state) const;
  std::size_t find_root(std::size_t stage) const;
  void settle(StageEntry& entry, std::int64_t at_ns);
  void settle_blame(std::int64_t at_ns);
  void note_stall(std::size_t stage, std::int64_t at_ns, std::uint64_t chunk);

  std::vector<StageEntry> stages_;
  std::vector<LinkEntry> links_;
  std::vector<Stall> stalls_;  // unordered, at most kStallsKept
  std::int64_t shortest_kept_ns_ = 0;
  std::uint64_t changes_ = 0;
  std::int64_t blame_since_ns_;
  std::int64_t latest_ns_;
};

}  // namespace millrace
