#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/flow_state.h"
#include "pipeline/histogram.h"
#include "pipeline/stage_record.h"
#include "pipeline/stage_runner.h"

namespace millrace {

/// Collects the StageRecord of one stage while it runs. Not thread-safe: used under the graph's lock.
class TurnRecorder {
 public:
  explicit TurnRecorder(std::int64_t run_start_ns);

  /// A turn that ended at `end_ns`, claimed at `claimed_ns`. Between give_outputs() and complete().
  void add(const Firing& firing, const BusyTally& tally, std::int64_t claimed_ns, std::int64_t end_ns);
  /// A thread for this stage ran that long after it was woken.
  void add_wake(std::int64_t ns) {
    ++wakes_;
    waking_ns_ += ns;
  }

  /// Everything but what the plan knows (parallel, ordered, splits, inputs). Turns around which the CPU clocks were not
  /// read are divided as those that were, by `stage`, the tally of all turns.
  StageRecord record(const BusyTally& stage) const;

 private:
  struct Entry {
    std::uint64_t ticket = 0;
    bool sampled = false;
    StageRecord::Turn turn;  ///< not sampled: other_ns is all that is not io_ns
  };

  std::int64_t run_start_ns_;
  std::vector<Entry> entries_;
  std::uint64_t turns_made_ = 0;
  Histogram hand_overs_;
  std::int64_t wakes_ = 0;
  std::int64_t waking_ns_ = 0;
};

}  // namespace millrace
