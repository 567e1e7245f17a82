#include "pipeline/experiment/ladder_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "pipeline/complete_report.h"
#include "pipeline/core/error.h"
#include "pipeline/experiment/ladder_rungs.h"
#include "pipeline/verdict_thresholds.h"

namespace millrace {
namespace {

/// After its sources were stopped, a run may take as long again, and this much at least, to let arrive what is in
/// flight. Then it is stopped, and counts as far as it came.
constexpr std::int64_t kShortestDrainNs = 5'000'000'000;

struct Flow {
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;
};

Flow given_by_sources(const RunReport& report) {
  Flow flow;
  for (const StageReport& stage : report.stages) {
    if (stage.role != Role::source) continue;
    flow.chunks += stage.chunks_out;
    flow.bytes += stage.bytes_out;
  }
  return flow;
}

/// Ends one run after its time.
class TimeLimit {
 public:
  explicit TimeLimit(const LadderSettings& settings) : settings_(settings) {}

  void look(const Progress& now) {
    const bool ended_by_user =
        settings_.control != nullptr && (settings_.control->drain_requested() || settings_.control->stop_requested());
    if (ended_by_user) control_.stop_now();
    if (now.elapsed_ns >= settings_.limit_ns) control_.drain();
    if (now.elapsed_ns >= settings_.limit_ns + std::max(settings_.limit_ns, kShortestDrainNs)) control_.stop_now();
  }

  RunControl& control() { return control_; }
  bool was_drained() const { return control_.drain_requested(); }
  bool was_stopped() const { return control_.stop_requested(); }

 private:
  const LadderSettings& settings_;
  RunControl control_;
};

class Experiment {
 public:
  explicit Experiment(const LadderSettings& settings)
      : settings_(settings),
        clock_(settings.clock == nullptr ? monotonic_clock() : *settings.clock),
        random_(settings.seed) {
    ladder().repeats = settings.repeats;
    ladder().limit_ns = settings.limit_ns;
  }

  LadderOutcome run() {
    record();
    if (ended()) return std::move(outcome_);
    Plan plan = settings_.make_plan();
    const auto first = choose_rungs(plan, recordings_, recorded_, ladder().remarks);
    const auto second = choose_pairs(plan, recordings_);
    discard(plan);
    measure(first);
    judge();
    if (ended()) return std::move(outcome_);
    if (ladder().finding.limit == Limit::nothing || ladder().finding.limit == Limit::undecided) {
      measure(second);
      judge();
    }
    if (const std::string remark = crowd_remark(); !remark.empty()) ladder().remarks.push_back(remark);
    return std::move(outcome_);
  }

 private:
  Ladder& ladder() { return outcome_.ladder; }
  bool ended() const { return !outcome_.failure.empty() || !outcome_.stuck.empty() || outcome_.ladder.interrupted; }
  bool user_ended() const { return settings_.control != nullptr && settings_.control->drain_requested(); }
  void progress(const std::string& text) const {
    if (settings_.on_progress) settings_.on_progress(text);
  }

  /// A plan that is not run: sinks may have prepared something that they must take back.
  static void discard(Plan& plan) {
    for (StagePlan& stage : plan.stages) {
      if (stage.role != Role::sink) continue;
      for (auto& instance : stage.instances) dynamic_cast<Sink&>(*instance).abandon();
    }
    plan.stages.clear();
  }

  void record() {
    progress("recording");
    if (settings_.before_run) settings_.before_run();
    Plan plan = settings_.make_plan();
    ladder().name = plan.name;
    recordings_ = record_stages(plan, recording_room(plan), clock_);
    recorded_ = run_once("the recorded run", std::move(plan)).report;
    for (const auto& recording : recordings_) {
      if (recording != nullptr) recording->seal();
    }
    if (ended()) return;
    const Flow flow = given_by_sources(recorded_);
    if (flow.chunks == 0) throw Error("the sources gave no chunk, so there is nothing to compare");
    in_bytes_ = flow.bytes != 0;
    ladder().unit = in_bytes_ ? "B" : "chunks";
    for (const StageReport& stage : recorded_.stages) roles_.emplace_back(stage.name, stage.role);
    note_recordings();
  }

  void note_recordings() {
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      if (recordings_[i] == nullptr || recordings_[i]->size() == 0) continue;
      const std::string& name = recorded_.stages[i].name;
      if (recordings_[i]->ran_out()) {
        ladder().remarks.push_back(
            fmt::format("'{}' is replayed from its first {} chunks ({}), again and again: more "
                        "do not fit in the memory budget",
                        name, recordings_[i]->size(), format_bytes(recordings_[i]->bytes())));
      }
      if (!recordings_[i]->finish_is_whole()) {
        ladder().remarks.push_back(
            fmt::format("what '{}' gave at its end does not fit in the memory budget and is not replayed", name));
      }
    }
  }

  /// `repeats` blocks of the planned rungs; blocks of an earlier call come before them.
  void measure(const std::vector<PlannedRung>& planned) {
    if (planned.size() < 2) return;
    std::vector<std::size_t> rung_of;
    for (const PlannedRung& rung : planned) rung_of.push_back(place_of(rung));
    std::vector<std::size_t> order(planned.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint32_t repeat = 0; repeat < settings_.repeats; ++repeat) {
      for (Rung& rung : ladder().rungs) rung.rates.emplace_back();
      std::shuffle(order.begin(), order.end(), random_);
      for (std::size_t n = 0; n < order.size(); ++n) {
        progress(fmt::format("repeat {} of {}, run {} of {}: {}", repeat + 1, settings_.repeats, n + 1, order.size(),
                             planned[order[n]].label));
        measure_one(planned[order[n]], ladder().rungs[rung_of[order[n]]]);
        if (ended()) return;
      }
    }
  }

  std::size_t place_of(const PlannedRung& planned) {
    auto& rungs = ladder().rungs;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      if (rungs[i].kind == planned.kind && rungs[i].stage == planned.stage) return i;
    }
    Rung rung;
    rung.kind = planned.kind;
    rung.label = planned.label;
    rung.stage = planned.stage;
    if (!rungs.empty()) rung.rates.resize(rungs.front().rates.size());
    rungs.push_back(std::move(rung));
    return rungs.size() - 1;
  }

  void measure_one(const PlannedRung& planned, Rung& rung) {
    const std::string flaw = settings_.before_run ? settings_.before_run() : "";
    Plan plan = settings_.make_plan();
    ablate(plan, recordings_, planned.ablation, clock_);
    const Run run = run_once("a run of " + planned.label, std::move(plan));
    if (ended()) return;
    if (planned.kind == RungKind::full) note_full(run.report);
    if (!flaw.empty()) {
      ladder().remarks.push_back(fmt::format("a run of {} is left out: {}", planned.label, flaw));
      return;
    }
    const double rate = rate_of(run);
    if (rate > 0) rung.rates.back() = rate;
    if (run.stopped) {
      ladder().remarks.push_back(fmt::format(
          "a run of {} was stopped before its links were empty, and counts by what arrived", planned.label));
    }
  }

  void note_full(const RunReport& report) {
    verdicts_.push_back(report.verdict);
    for (const StageReport& stage : report.stages) {
      on_cpu_ns_ += stage.busy.on_cpu_ns;
      run_delay_ns_ += stage.busy.run_delay_ns;
    }
  }

  /// Whatever was measured on a crowded machine says as much of the crowd.
  std::string crowd_remark() const {
    const auto wanted = static_cast<double>(on_cpu_ns_ + run_delay_ns_);
    const double share = wanted == 0 ? 0 : static_cast<double>(run_delay_ns_) / wanted;
    if (share < verdict::kContendedShare) return "";
    return fmt::format(
        "as configured, the run waited for a core {:.0f} % of the time that it wanted one: other programs, "
        "or more threads than cores; on a quiet machine the ratios may be others",
        share * 100);
  }

  struct Run {
    RunReport report;
    bool stopped = false;
  };

  Run run_once(const std::string& what, Plan plan) {
    TimeLimit limit(settings_);
    RunSettings settings;
    settings.clock = settings_.clock;
    settings.make_pool = settings_.make_pool;
    settings.control = &limit.control();
    settings.on_progress = [&limit](const Progress& now) { limit.look(now); };
    RunOutcome outcome = millrace::run(std::move(plan), settings);
    complete_report(outcome.report);
    outcome_.stuck = outcome.stuck;
    if (settings_.after_run && outcome.stuck.empty()) settings_.after_run(outcome.report);
    if (user_ended()) {
      ladder().interrupted = true;
    } else if (outcome.report.status != "ok" && !(outcome.report.status == "interrupted" && limit.was_drained())) {
      outcome_.failure = fmt::format("{} failed: {}", what, outcome.report.error);
    }
    return {std::move(outcome.report), limit.was_stopped()};
  }

  /// What of the sources' bytes (or chunks) arrived, per second.
  double rate_of(const Run& run) const {
    const Flow flow = given_by_sources(run.report);
    auto amount = static_cast<double>(in_bytes_ ? flow.bytes : flow.chunks);
    if (run.stopped) amount *= arrived_share(run.report);
    return run.report.wall_ns <= 0 ? 0 : amount * 1e9 / static_cast<double>(run.report.wall_ns);
  }

  /// Of what the sources gave in a run that was stopped, the part that is with the sinks: by the chunks that a sink got
  /// for each chunk of the sources in the recorded run, which was whole.
  double arrived_share(const RunReport& report) const {
    const auto given = static_cast<double>(given_by_sources(report).chunks);
    const auto given_then = static_cast<double>(given_by_sources(recorded_).chunks);
    double share = 1;
    for (std::size_t i = 0; i < report.stages.size(); ++i) {
      if (report.stages[i].role != Role::sink || given == 0 || recorded_.stages[i].chunks_in == 0) continue;
      const double per_chunk = static_cast<double>(recorded_.stages[i].chunks_in) / given_then;
      share = std::min(share, static_cast<double>(report.stages[i].chunks_in) / (given * per_chunk));
    }
    return share;
  }

  void judge() { judge_ladder(ladder(), verdicts_, roles_); }

  const LadderSettings& settings_;
  Clock& clock_;
  std::mt19937_64 random_;
  LadderOutcome outcome_;
  Recordings recordings_;
  RunReport recorded_;
  bool in_bytes_ = true;
  std::vector<Verdict> verdicts_;
  std::int64_t on_cpu_ns_ = 0;     // of the full runs
  std::int64_t run_delay_ns_ = 0;  // likewise
  std::vector<std::pair<std::string, Role>> roles_;
};

}  // namespace

LadderOutcome run_ladder(const LadderSettings& settings) { return Experiment(settings).run(); }

}  // namespace millrace
