#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/link.h"
#include "pipeline/report.h"

namespace millrace {

/// One call as it was recorded, without the time its thread waited for a core.
struct RecordedCall {
  std::int64_t cpu_ns = 0;
  std::int64_t io_ns = 0;
  std::int64_t other_ns = 0;
  std::uint64_t bytes_out = 0;
  bool gives = false;               ///< a chunk of bytes_out bytes
  std::int64_t not_before_ns = -1;  ///< of a source that keeps a pace: when the call ended at the earliest; else -1
  std::int64_t child_ns = 0;        ///< more waiting, in which a child process computed: it takes a core
};

/// The calls of a stage, in groups: a call with the more() that followed it, or the finish() calls of one slot.
class CallScript {
 public:
  void begin_group() { starts_.push_back(calls_.size()); }
  void add(const RecordedCall& call) { calls_.push_back(call); }

  std::size_t groups() const { return starts_.size(); }
  std::size_t size(std::size_t group) const {
    return (group + 1 < starts_.size() ? starts_[group + 1] : calls_.size()) - starts_[group];
  }
  const RecordedCall& call(std::size_t group, std::size_t n) const { return calls_[starts_[group] + n]; }
  RecordedCall& last() { return calls_.back(); }
  const std::vector<RecordedCall>& calls() const { return calls_; }

 private:
  std::vector<RecordedCall> calls_;
  std::vector<std::size_t> starts_;
};

struct RecordedStage {
  std::string name;
  std::string type;
  Role role = Role::transform;
  std::uint32_t slots = 1;
  bool own_threads = false;  ///< as in StageReport
  bool parallel = false;
  bool ordered = true;
  bool splits = false;
  bool paced = false;  ///< a source that waits for its instrument: its calls end by the clock, not by their length
  std::vector<std::size_t> inputs;             ///< links
  std::vector<std::size_t> outputs;            ///< links
  std::shared_ptr<const CallScript> calls;     ///< group k: what input (or chunk) number k took
  std::shared_ptr<const CallScript> finishes;  ///< one group per slot that had something to finish
  bool cut = false;                            ///< the run made more turns than were kept
  std::int64_t hand_over_ns = 0;               ///< of a turn, beside its calls; on the CPU
  std::int64_t wake_ns = 0;
  /// What a turn lasted longer than its replay, on average (see calibrate()).
  double delay_ns = 0;
  double cpu_factor = 1;   ///< on recorded times, by a change: 0.5 = twice as fast
  double wait_factor = 1;  ///< likewise, on io and other
  std::optional<IoStats> io;

  bool uses_workers() const { return role == Role::transform && !own_threads; }
};

struct RecordedLink {
  std::size_t from = 0;
  std::size_t to = 0;
  Link::Bounds bounds;
  std::uint64_t max_chunk_bytes = 0;
};

/// A recorded run as something that can be changed and run again on paper.
struct RecordedRun {
  std::vector<RecordedStage> stages;  ///< every link goes from a lower to a higher index
  std::vector<RecordedLink> links;
  std::uint32_t threads = 1;
  std::uint32_t cores = 1;
};

/// Makes it of a report. Error (kind config) when the run was not recorded, did not end well, or when its parts do not
/// fit together; the message says what to do.
RecordedRun recorded_run(const RunReport& report);

/// Chunks that the sources delivered per second of the run; the unit in which a run and its replay are compared.
double chunk_rate(const RunReport& report);

}  // namespace millrace
