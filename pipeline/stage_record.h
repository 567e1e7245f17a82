#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/spec.h"

namespace millrace {

/// What `run --record` keeps of one stage, turn by turn, so that the run can be replayed with other settings
/// (pipeline/replay). A turn is a call, or a batch of calls of some 100 ns each (see pipeline/graph.h).
struct StageRecord {
  /// Turns kept of one stage; later ones are counted only. finish() is kept in any case, up to as many again.
  static constexpr std::size_t kMaxTurns = 100'000;

  enum class Kind { call, more, finish };

  struct Turn {
    Kind kind = Kind::call;
    std::uint32_t calls = 1;
    std::uint32_t chunks_out = 0;
    std::uint64_t bytes_out = 0;
    std::int64_t at_ns = 0;     ///< when its first call began, since the start of the run
    std::int64_t cpu_ns = 0;    ///< on the CPU
    std::int64_t io_ns = 0;     ///< waiting inside a read, write, fsync or page fault
    std::int64_t other_ns = 0;  ///< off the CPU for another reason
    bool operator==(const Turn&) const = default;
  };
  struct Input {
    WhenFull when_full = WhenFull::block;
    std::uint64_t max_chunk_bytes = 0;
    bool operator==(const Input&) const = default;
  };

  bool parallel = false;  ///< may have more than one slot
  bool ordered = true;
  bool splits = false;
  std::vector<Input> inputs;      ///< as the report's links into this stage, in their order
  std::uint64_t turns_made = 0;   ///< in all; more than turns.size() when the record was cut
  std::int64_t hand_over_ns = 0;  ///< median time of a turn beside its calls: the lock, the accounts, waking others
  std::int64_t wake_ns = 0;       ///< mean time from waking one of its threads (a worker) until it runs
  /// In the order of the stage's input, each more() behind its call. The time that a thread waited for a core is in
  /// none of the parts: cpu + io + other is the wall time that the turn would have had with the machine to itself.
  std::vector<Turn> turns;

  bool cut() const { return turns_made > turns.size(); }
  bool operator==(const StageRecord&) const = default;
};

}  // namespace millrace
