#include "pipeline/run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/drift.h"
#include "pipeline/graph.h"
#include "pipeline/ledger_cost.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;

/// How often the run is looked at: signals, progress, samples.
constexpr milliseconds kLookEvery{20};
constexpr std::int64_t kProgressEveryNs = 200'000'000;
/// Samples are thinned out to every second one when there are this many, so a run of any length keeps 500 to 1000.
constexpr std::size_t kMaxSamples = 1000;
/// How often the drift alarm looks: often enough for its windows of ten seconds, in runs of any length.
constexpr std::int64_t kDriftEveryNs = 2'000'000'000;
/// What a stop allows the calls under way: then the run is given up with their stages' names.
constexpr milliseconds kStopWithin{1000};
/// A stall is explained early, and ends the run only after plan.stall_timeout.
constexpr std::int64_t kExplainStallAfterNs = 30'000'000'000;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", utc);
}

/// Resident memory of the process now (second field of /proc/self/statm, pages); 0 when it cannot be read.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> size_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What the drift alarm must know of a pipeline.
RunReport shape_of(const Plan& plan) {
  RunReport shape;
  shape.threads = plan.threads;
  shape.environment.cpus = usable_cores();
  for (const StagePlan& stage : plan.stages) {
    StageReport& out = shape.stages.emplace_back();
    out.name = stage.name;
    out.role = stage.role;
    out.slots = stage.slots();
  }
  for (const LinkPlan& link : plan.links) {
    LinkReport& out = shape.links.emplace_back();
    out.from = plan.stages[link.from].name;
    out.to = plan.stages[link.to].name;
    out.capacity_chunks = link.capacity_chunks;
  }
  return shape;
}

/// Watches a graph from start to end; one per run.
class Watch {
 public:
  Watch(Plan& plan, const RunSettings& settings, Graph& graph, Clock& clock)
      : plan_(plan), settings_(settings), graph_(graph), clock_(clock), drift_detector_(shape_of(plan)) {
    for (const StagePlan& stage : plan_.stages) {
      if (stage.role != Role::source) continue;
      const auto& source = static_cast<const Source&>(*stage.instances.front());
      bytes_total_ += source.total_bytes().value_or(0);
      chunks_total_ += source.total_chunks().value_or(0);
    }
  }

  /// Returns "ok", "failed", "stalled" or "interrupted". `stuck` gets the stages whose calls did not come back.
  std::string until_done(std::vector<std::string>& stuck) {
    while (!graph_.wait_until_done(kLookEvery)) {
      look();
      if (stopped_at_ && !graph_.wait_until_done(*stopped_at_ + kStopWithin - now())) {
        stuck = graph_.stuck_stages();
        break;
      }
    }
    take_sample();
    if (stalled_) return "stalled";
    if (graph_.failure()) return "failed";
    return interrupted_ ? "interrupted" : "ok";
  }

  std::vector<Sample>& samples() { return samples_; }
  std::vector<DriftReport>& drift() { return drift_; }
  std::int64_t sample_interval_ns() const { return sample_every_ns_; }
  std::uint64_t allocations_after_warm_up() const {
    return graph_.allocations() - allocations_warm_.value_or(graph_.allocations());
  }

 private:
  std::chrono::nanoseconds now() { return std::chrono::nanoseconds(clock_.now_ns()); }

  void look() {
    const std::int64_t now_ns = clock_.now_ns();
    if (settings_.control != nullptr) obey(*settings_.control);
    if (graph_.failure() && !stopped_at_) stopped_at_ = now();
    if (now_ns - last_sample_ns_ >= sample_every_ns_) {
      take_sample();
      last_sample_ns_ = now_ns;
    }
    if (settings_.on_progress && now_ns - last_progress_ns_ >= kProgressEveryNs) {
      report_progress();
      last_progress_ns_ = now_ns;
    }
    if (now_ns - last_drift_ns_ >= kDriftEveryNs && !graph_.draining() && !stopped_at_) {
      watch_for_drift();
      last_drift_ns_ = now_ns;
    }
    watch_for_stall(now_ns);
  }

  void obey(const RunControl& control) {
    if (control.stop_requested()) {
      interrupted_ = true;
      if (!stopped_at_) {
        graph_.stop(nullptr);
        stopped_at_ = now();
      }
    } else if (control.drain_requested() && !graph_.draining()) {
      interrupted_ = true;
      graph_.drain();
    }
  }

  void watch_for_stall(std::int64_t now_ns) {
    const std::int64_t still_ns = now_ns - graph_.last_progress_ns();
    const std::int64_t limit_ns = plan_.stall_timeout.count();
    if (still_ns < kExplainStallAfterNs && (limit_ns == 0 || still_ns < limit_ns)) {
      explained_ = false;
      return;
    }
    if (!explained_ && settings_.on_notice) settings_.on_notice(graph_.explain_stall());
    explained_ = true;
    if (limit_ns == 0 || still_ns < limit_ns || stopped_at_) return;
    stalled_ = true;
    const Error error(graph_.explain_stall());
    graph_.stop(&error);
    stopped_at_ = now();
  }

  /// With samples of its own: those that are kept become rare in a long run.
  void watch_for_drift() {
    const auto found = drift_detector_.add(graph_.sample());
    if (!found) return;
    drift_.push_back(*found);
    if (settings_.on_notice) settings_.on_notice(drift_text(*found));
  }

  void take_sample() {
    samples_.push_back(graph_.sample());
    samples_.back().resident_bytes = resident_bytes();
    note_warm_up();
    if (samples_.size() < kMaxSamples) return;
    std::size_t kept = 0;
    for (std::size_t i = 1; i < samples_.size(); i += 2) samples_[kept++] = std::move(samples_[i]);
    samples_.resize(kept);
    sample_every_ns_ *= 2;
  }

  /// Warm-up in the sense of allocations: a tenth of the input, or the first second where the size is not known.
  void note_warm_up() {
    if (allocations_warm_) return;
    std::uint64_t produced = 0;
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      if (plan_.stages[i].role == Role::source) produced += samples_.back().stages[i].chunks_out;
    }
    const bool warm = chunks_total_ != 0 ? produced * 10 >= chunks_total_ : samples_.back().at_ns >= 1'000'000'000;
    if (warm) allocations_warm_ = graph_.allocations();
  }

  void report_progress() {
    const Sample sample = samples_.empty() ? graph_.sample() : samples_.back();
    Progress progress;
    progress.elapsed_ns = clock_.now_ns() - graph_.start_ns();
    progress.bytes_total = bytes_total_;
    progress.chunks_total = chunks_total_;
    progress.draining = graph_.draining();
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      if (plan_.stages[i].role != Role::source) continue;
      progress.bytes_done += sample.stages[i].bytes_out;
      progress.chunks_done += sample.stages[i].chunks_out;
    }
    progress.bottleneck = busiest(sample);
    settings_.on_progress(progress);
  }

  /// The stage with the largest share of busy slot time since the sample of about a second ago.
  std::string busiest(const Sample& latest) const {
    if (samples_.size() < 2) return "";
    std::size_t before = samples_.size() - 2;
    while (before != 0 && latest.at_ns - samples_[before].at_ns < 1'000'000'000) --before;
    double most = 0.5;  // nobody who idles half the time is a bottleneck worth a name
    std::string name;
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      const StateTimes times = latest.stages[i].time - samples_[before].stages[i].time;
      const double share =
          times.sum_ns() == 0 ? 0 : static_cast<double>(times.busy_ns) / static_cast<double>(times.sum_ns());
      if (share <= most) continue;
      most = share;
      name = plan_.stages[i].name;
    }
    return name;
  }

  Plan& plan_;
  const RunSettings& settings_;
  Graph& graph_;
  Clock& clock_;
  DriftDetector drift_detector_;
  std::vector<DriftReport> drift_;
  std::vector<Sample> samples_;
  std::int64_t sample_every_ns_ = 40'000'000;
  std::int64_t last_sample_ns_ = 0;
  std::int64_t last_progress_ns_ = 0;
  std::int64_t last_drift_ns_ = 0;
  std::uint64_t bytes_total_ = 0;
  std::uint64_t chunks_total_ = 0;
  std::optional<std::uint64_t> allocations_warm_;
  std::optional<std::chrono::nanoseconds> stopped_at_;
  bool interrupted_ = false;
  bool stalled_ = false;
  bool explained_ = false;
};

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void add_memory(RunReport& report, const Plan& plan, std::uint64_t program_bytes,
                std::uint64_t allocations_after_warm_up) {
  MemoryReport& memory = report.memory;
  memory.planned_bytes = plan.memory.total_bytes + program_bytes;
  memory.budget_bytes = plan.memory.budget_bytes;
  memory.peak_rss_bytes = peak_rss_bytes();
  memory.allocations_after_warm_up = allocations_after_warm_up;
  std::uint64_t copied = 0;
  std::uint64_t delivered = 0;
  for (const StageReport& stage : report.stages) {
    copied += stage.copied_bytes;
    if (stage.role == Role::sink) delivered += stage.bytes_in;
  }
  if (delivered != 0) memory.bytes_copied_per_byte = static_cast<double>(copied) / static_cast<double>(delivered);
}

void add_outputs(RunReport& report, const Plan& plan) {
  for (const StagePlan& stage : plan.stages) {
    if (stage.role != Role::sink) continue;
    for (const auto& instance : stage.instances) {
      for (const Sink::Output& output : static_cast<const Sink&>(*instance).outputs()) {
        report.outputs.push_back({output.path.string(), output.bytes});
      }
    }
  }
}

void add_ledger_cost(RunReport& report, const Graph& graph, Clock& clock) {
  std::int64_t busy_ns = 0;
  for (const StageReport& stage : report.stages) busy_ns += stage.time.busy_ns;
  const BusyTally tally = graph.total_tally();
  report.ledger_cost = calibrate_ledger(clock, tally.calls, graph.ledger_changes(), tally.samples, busy_ns);
}

/// Keeps what threads that never come back go on using, until the process ends.
void leave_behind(std::unique_ptr<Plan> plan, std::unique_ptr<Graph> graph) {
  static auto* const kept = new std::vector<std::pair<std::unique_ptr<Plan>, std::unique_ptr<Graph>>>;
  kept->emplace_back(std::move(plan), std::move(graph));
}

}  // namespace

RunOutcome run(Plan plan, const RunSettings& settings) {
  Clock& clock = settings.clock == nullptr ? monotonic_clock() : *settings.clock;
  RunOutcome outcome;
  RunReport& report = outcome.report;
  report.name = plan.name;
  report.started = utc_now();
  report.config_json = plan.config_json;

  const std::uint64_t program_bytes = resident_bytes();
  // On the heap because threads that never come back keep using them: then both are left behind.
  auto kept_plan = std::make_unique<Plan>(std::move(plan));
  auto graph = std::make_unique<Graph>(*kept_plan, settings, clock);
  Watch watch(*kept_plan, settings, *graph, clock);
  graph->start();
  report.status = watch.until_done(outcome.stuck);
  if (outcome.stuck.empty()) graph->clean_up();

  if (const auto failure = graph->failure()) report.error = failure->what();
  graph->fill_report(report);
  report.samples = std::move(watch.samples());
  report.sample_interval_ns = watch.sample_interval_ns();
  report.drift = std::move(watch.drift());
  add_memory(report, *kept_plan, program_bytes, watch.allocations_after_warm_up());
  if (outcome.stuck.empty()) {
    add_outputs(report, *kept_plan);
    add_ledger_cost(report, *graph, clock);
    kept_plan->stages.clear();  // before the pools: a stage may still hold a buffer
  } else {
    leave_behind(std::move(kept_plan), std::move(graph));
  }
  return outcome;
}

}  // namespace millrace
