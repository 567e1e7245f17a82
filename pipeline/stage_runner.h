#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "pipeline/core/clock.h"
#include "pipeline/core/stage.h"
#include "pipeline/flow_state.h"
#include "pipeline/histogram.h"
#include "pipeline/report.h"

namespace millrace {

/// What the calls of one stage cost, added up turn by turn. The CPU clocks are read around some turns only; their
/// shares stand for all.
struct BusyTally {
  std::int64_t wall_ns = 0;          ///< inside calls
  std::int64_t io_wait_ns = 0;       ///< of it, waiting in I/O that the io layer timed (every call)
  std::int64_t sampled_wall_ns = 0;  ///< of the turns around which the CPU clocks were read
  std::int64_t sampled_cpu_ns = 0;
  std::int64_t sampled_delay_ns = 0;
  std::int64_t sampled_io_wait_ns = 0;
  std::int64_t sampled_fault_wait_ns = 0;  ///< unexplained waiting in turns that fetched pages of files
  std::uint64_t turns = 0;
  std::uint64_t calls = 0;
  std::uint64_t samples = 0;
  std::uint64_t sampled_calls = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t copied_bytes = 0;

  void add(const BusyTally& other);
};

/// Splits `busy_ns` of slot time by what the tally knows. The four parts sum to busy_ns exactly and none is negative;
/// where clocks disagree by more than the whole, on_cpu is believed first, then io_wait, then run_delay.
BusySplit split_busy(std::int64_t busy_ns, const BusyTally& tally);

/// Makes the calls of one slot and takes their time; the stage knows nothing of it. One thread at a time.
class StageRunner {
 public:
  /// The CPU clocks are read around a turn when this much busy time has passed since the last reading. Two readings
  /// cost about 3 us of system calls: 0.5 % at most, and 5 % while a run is recorded.
  static constexpr std::int64_t kSampleEveryNs = 600'000;
  static constexpr std::int64_t kSampleEveryRecordedNs = 60'000;

  /// `lender` lends what the stage's loan() asks for; may be null. All outlive the runner.
  StageRunner(Stage& stage, Role role, Lender* lender, Clock& clock, std::stop_token stop,
              std::int64_t sample_every_ns = kSampleEveryNs);

  /// All calls of one turn: consumes firing.inputs, fills firing.outputs and firing.ended. Throws what the stage
  /// throws; processed() then says how many inputs were done before. `end` is what a sink's finish() is told.
  BusyTally run(Firing& firing, Sink::End end);
  std::uint32_t processed() const { return processed_; }
  /// When the latest call ended.
  std::int64_t last_ns() const { return last_ns_; }

  /// Wall time of every call so far, the calls of long turns at their mean; for the end of the run.
  const Histogram& call_times() const { return call_times_; }

 private:
  void make_calls(Firing& firing, Sink::End end);
  void one_call(Firing& firing, std::uint32_t n, Sink::End end);
  std::optional<Chunk> ask_for_output(Firing& firing, std::uint32_t n);
  bool worth_sampling();

  Stage& stage_;
  Role role_;
  Lender* lender_;
  Clock& clock_;
  std::stop_token stop_;
  std::int64_t sample_every_ns_;
  Histogram call_times_;
  std::uint32_t processed_ = 0;
  std::int64_t last_ns_ = 0;            // end of the latest call of this turn
  std::int64_t unsampled_ns_ = 0;       // wall time since the latest sample
  std::int64_t recent_longest_ns_ = 0;  // longest turn, decaying
};

}  // namespace millrace
