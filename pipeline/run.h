#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/core/buffer.h"
#include "pipeline/core/clock.h"
#include "pipeline/plan.h"
#include "pipeline/report.h"

namespace millrace {

/// Ends a run from outside. All functions are safe from any thread and from a signal handler, and may be repeated.
class RunControl {
 public:
  /// Sources stop; what is in flight goes to its end.
  void drain() noexcept { level_.store(level_.load() < 1 ? 1 : level_.load()); }
  /// Everything stops; chunks in flight are discarded and counted.
  void stop_now() noexcept { level_.store(2); }

  bool drain_requested() const noexcept { return level_.load() >= 1; }
  bool stop_requested() const noexcept { return level_.load() >= 2; }

 private:
  std::atomic<int> level_{0};
};

/// What one link wants of its buffer pool.
struct PoolSpec {
  std::uint64_t buffer_bytes = 0;  ///< largest buffer that will be asked for
  std::uint64_t buffers = 0;       ///< as many as can be in use at once
};

/// A pool that counts what it had to allocate.
class Pool : public Lender {
 public:
  /// Blocks taken from the system so far.
  virtual std::uint64_t allocations() const = 0;
};

/// The state of a run that is going on, for progress displays.
struct Progress {
  std::int64_t elapsed_ns = 0;
  std::uint64_t bytes_done = 0;   ///< delivered by the sources and no longer in flight, roughly
  std::uint64_t bytes_total = 0;  ///< 0 = unknown
  std::uint64_t chunks_done = 0;
  std::uint64_t chunks_total = 0;  ///< 0 = unknown
  std::string bottleneck;          ///< stage that is busiest now; empty while nothing can be said
  bool draining = false;
};

struct RunSettings {
  Clock* clock = nullptr;                                           ///< null = monotonic_clock()
  std::function<std::unique_ptr<Pool>(const PoolSpec&)> make_pool;  ///< empty = a plain heap pool
  bool record = false;                                              ///< keep every turn: StageReport::record
  RunControl* control = nullptr;                                    ///< null = cannot be stopped from outside
  std::function<void(const Progress&)> on_progress;   ///< called from a thread of the run, about 5 times a second
  std::function<void(const std::string&)> on_notice;  ///< stalls, lasting changes of pace (drift.h): one line each
};

/// How a run went. `report` is complete but for what complete_report() adds. When `stuck` is not empty, these stages
/// did not come back from a call within the time allowed: their threads and everything they use were left behind on
/// purpose, and the process should end with _Exit after it has said so.
struct RunOutcome {
  RunReport report;
  std::vector<std::string> stuck;
};

/// Runs a plan to its end. Blocks; uses threads of its own for sources, sinks and housekeeping, and a TBB arena of
/// plan.threads workers. Never throws for a failure of the run: that is in the report (status, error).
RunOutcome run(Plan plan, const RunSettings& settings);

}  // namespace millrace
