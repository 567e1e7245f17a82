#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/adaptive_mutex.h"
#include "pipeline/call_forecast.h"
#include "pipeline/core/error.h"
#include "pipeline/flow_state.h"
#include "pipeline/plan.h"
#include "pipeline/report.h"
#include "pipeline/run.h"
#include "pipeline/stage_runner.h"
#include "pipeline/turn_recorder.h"
#include "pipeline/worker_arena.h"

namespace millrace {

/// A pipeline that runs: the threads around a FlowState. Every slot of a source or sink is a thread of its own, because
/// it blocks in the kernel, and a transform that waits has as many threads as slots; the other transforms are fired by
/// the workers of an arena. One lock guards the FlowState; it is held briefly, once per turn, and never during a call.
///
/// A worker that ends a turn goes on with whatever transform can fire now, the one nearest to the sink first: no task
/// is spawned and nobody is woken for what a running worker will do next anyway.
class Graph {
 public:
  Graph(Plan& plan, const RunSettings& settings, Clock& clock);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  /// All threads must have ended (wait_until_done() returned true).
  ~Graph();

  void start();
  /// True when every thread and worker is out of the graph; false after `timeout`.
  bool wait_until_done(std::chrono::nanoseconds timeout);
  /// Sources end their streams.
  void drain();
  /// Nothing fires any more; calls that are under way come back or not. `failure`: what went wrong, unless somebody
  /// else failed first; null when it was asked for from outside.
  void stop(const Error* failure);

  /// After the end: joins the threads and tells sinks that did not finish to abandon their output.
  void clean_up();
  /// Instead of it, when calls do not come back: names the stages that are inside one.
  std::vector<std::string> stuck_stages();

  std::int64_t start_ns() const { return start_ns_; }
  std::int64_t end_ns() const { return end_ns_; }
  std::optional<Error> failure();
  bool draining() const { return draining_.load(); }
  /// When a turn last ended.
  std::int64_t last_progress_ns() const { return last_progress_ns_.load(std::memory_order_relaxed); }

  Sample sample();
  std::uint64_t allocations() const;
  /// State changes that the ledger booked; after the end.
  std::uint64_t ledger_changes() const { return flow_.ledger().changes(); }
  /// What all stages' calls cost together; after the end.
  BusyTally total_tally() const;
  /// One line that says what every stage does and who waits for whom.
  std::string explain_stall();
  /// Stages, links, blame, stalls, loss and busy split: everything that the ledger knows.
  void fill_report(RunReport& report);

 private:
  struct OwnThread {
    std::thread thread;
    std::size_t stage = 0;
    std::uint32_t slot = 0;
    std::atomic<int> signal{0};
    bool parked = false;        // under the lock
    std::int64_t woken_ns = 0;  // likewise
  };
  struct StageEntry {
    std::vector<StageRunner> runners;  // by slot
    BusyTally tally;                   // under the lock
    CallForecast forecast;
    std::unique_ptr<TurnRecorder> recorder;  // under the lock; null unless the run is recorded
    std::uint32_t threads_parked = 0;
    std::size_t first_thread = 0;  // into threads_: one per slot, of stages that do not use the workers
  };
  /// What must be done after the lock is released.
  struct Errands {
    std::vector<OwnThread*> wake;
    std::vector<std::size_t> fire;
    bool stop = false;
    bool done = false;
  };

  FlowState make_flow() const;
  void make_pools(const RunSettings& settings);
  static std::uint64_t held_by(const StagePlan& stage);
  std::uint64_t most_out(std::size_t link) const;
  void make_stages(bool record);

  void give_up_threads(std::size_t count);
  void run_own_thread(OwnThread& self);
  void work(std::size_t stage);
  Firing* next_for_worker(std::size_t latest, std::int64_t now_ns);
  Firing* claim(std::size_t stage, std::int64_t now_ns);
  Firing* claim_from_sink(std::size_t first, std::int64_t now_ns);
  std::uint32_t batch_for(std::size_t stage) const { return stages_[stage].forecast.batch(); }
  /// Outside the lock: the calls of a turn. Returns when they ended.
  std::int64_t execute(Firing& firing, BusyTally& tally, std::optional<Error>& error);
  // Under the lock:
  /// `claimed_ns`, `now_ns`: when the turn was claimed, and when its last call ended.
  void conclude(Firing& firing, const BusyTally& tally, const std::optional<Error>& error, std::int64_t claimed_ns,
                std::int64_t now_ns, Errands& errands);
  void stop_locked(const Error* failure, Errands& errands);
  /// `next`: the turn that the caller goes on with, or null when it will sleep or leave.
  void find_errands(const Firing* next, std::int64_t now_ns, Errands& errands);
  bool may_put_off(const Firing* next, std::int64_t now_ns);
  void wake_fireable(bool put_off, std::int64_t now_ns, Errands& errands);
  void wake_parked(std::size_t stage, std::uint32_t most, std::int64_t now_ns, Errands& errands);
  void call_workers(bool put_off, std::int64_t now_ns, Errands& errands);
  void leave(Errands& errands);
  BusySplit split(std::size_t stage, std::int64_t busy_ns) const { return split_busy(busy_ns, stages_[stage].tally); }
  bool is_in_a_call(std::size_t stage) const { return flow_.ledger().state(stage).counts.busy != 0; }
  StageReport stage_report(std::size_t index, std::int64_t end_ns) const;
  StageRecord stage_record(std::size_t index) const;
  LinkReport link_report(std::size_t index, std::int64_t end_ns) const;
  void add_blame(RunReport& report, std::int64_t end_ns) const;
  void add_stalls(RunReport& report) const;
  void add_loss(RunReport& report) const;
  // Outside again:
  void run_errands(Errands& errands);
  static void wait_for_signal(OwnThread& self);

  Plan& plan_;
  Clock& clock_;
  std::stop_source stop_;
  std::vector<std::unique_ptr<Pool>> pools_;  // by link
  std::int64_t start_ns_;
  std::atomic<std::int64_t> end_ns_{0};
  std::atomic<std::int64_t> last_progress_ns_{0};
  std::atomic<bool> draining_{false};

  AdaptiveMutex mutex_;  // guards everything from here to inside_
  FlowState flow_;
  std::vector<StageEntry> stages_;
  std::vector<std::uint64_t> parked_stages_;  // bit per stage with a parked thread of its own
  std::vector<std::uint64_t> transforms_;     // bit per stage that uses the workers; constant
  std::size_t ended_seen_ = 0;
  std::uint32_t workers_active_ = 0;            // asked for and not left yet
  std::uint32_t workers_starting_ = 0;          // of these, not arrived yet
  std::uint32_t workers_soon_back_ = 0;         // of these, in a turn that is expected to be short
  std::int64_t put_off_since_ns_ = 0;           // since when a wake-up is being put off; 0 = none is
  std::uint32_t workers_arrived_ = 0;           // so far; only for a record, as the next
  std::deque<std::int64_t> workers_called_ns_;  // when the starting ones were, oldest first; only for a record
  bool stopped_ = false;
  std::optional<Error> failure_;
  std::size_t inside_ = 0;  // own threads and workers that have not left

  std::deque<OwnThread> threads_;
  std::unique_ptr<WorkerArena> arena_;
  std::mutex done_mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
};

}  // namespace millrace
