#include "pipeline/replay/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "pipeline/replay/replay.h"

namespace millrace {
namespace {

/// Of the slot time: a source that was blocked this much never showed how fast it can be.
constexpr double kHeldUp = 0.2;

double per_call_ns(const StageReport& stage) {
  return stage.call.count == 0 ? 0 : static_cast<double>(stage.time.busy_ns) / static_cast<double>(stage.call.count);
}

/// Busy time of the real run beyond that of the replay, spread over the turns of each stage. By calls, because of a
/// long run only the first part is replayed.
void add_delays(RecordedRun& run, const RunReport& real, const RunReport& replayed) {
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    const StageRecord& record = *real.stages[i].record;
    const double extra_ns = per_call_ns(real.stages[i]) - per_call_ns(replayed.stages[i]);
    if (extra_ns <= 0 || record.turns_made == 0 || replayed.stages[i].call.count == 0) continue;
    run.stages[i].delay_ns =
        extra_ns * static_cast<double>(real.stages[i].call.count) / static_cast<double>(record.turns_made);
  }
}

std::string device_assumption(const RecordedStage& stage) {
  return fmt::format(
      "the slots of '{}' wait at the same time without slowing each other down; a device that they share would not "
      "serve them all at once",
      stage.name);
}

bool waits(const RecordedStage& stage) {
  std::int64_t cpu_ns = 0;
  std::int64_t wait_ns = 0;
  for (const RecordedCall& call : stage.calls->calls()) {
    cpu_ns += call.cpu_ns;
    wait_ns += call.io_ns + call.other_ns + call.child_ns;
  }
  return wait_ns > cpu_ns / 4;
}

}  // namespace

bool Calibration::trusted() const {
  if (!(real_rate > 0 && replayed_rate > 0)) return false;
  return std::abs(std::log(replayed_rate / real_rate)) <= std::log1p(kMaxReplayError);
}

Calibration calibrate(const RunReport& report) {
  Calibration calibration;
  calibration.run = recorded_run(report);
  calibration.replayed = replay(calibration.run);
  add_delays(calibration.run, report, calibration.replayed);
  calibration.replayed = replay(calibration.run);
  calibration.real_rate = chunk_rate(report);
  calibration.replayed_rate = chunk_rate(calibration.replayed);
  return calibration;
}

Prediction predict(const Calibration& calibration, const std::vector<Change>& changes) {
  RecordedRun changed = calibration.run;
  for (const Change& change : changes) apply(changed, change);
  Prediction prediction;
  prediction.changes = changes;
  prediction.replayed = replay(changed);
  const double before = calibration.replayed_rate;
  prediction.gain = before > 0 ? chunk_rate(prediction.replayed) / before : 1;
  return prediction;
}

std::vector<std::string> assumptions(const Calibration& calibration, const std::vector<Change>& changes) {
  std::vector<std::string> result{
      "calls take as long as they did; cores do not slow each other down over memory, caches or clock rate"};
  for (const Change& change : changes) {
    for (const RecordedStage& stage : calibration.run.stages) {
      if (stage.name != change.stage || change.what != Change::What::slots || change.number <= stage.slots) continue;
      const std::string sentence = device_assumption(stage);
      if (waits(stage) && std::find(result.begin(), result.end(), sentence) == result.end()) result.push_back(sentence);
    }
  }
  for (std::size_t i = 0; i < calibration.run.stages.size(); ++i) {
    const RecordedStage& stage = calibration.run.stages[i];
    const StateTimes& time = calibration.replayed.stages[i].time;
    if (stage.cut)
      result.push_back(
          fmt::format("only the first part of the run was kept of '{}': the rest was like it", stage.name));
    if (stage.role != Role::source) continue;
    const double blocked = static_cast<double>(time.blocked_ns);
    if (stage.paced) {
      result.push_back(fmt::format("'{}' waits for its instrument, which delivers when it did", stage.name));
    } else if (blocked > kHeldUp * static_cast<double>(time.sum_ns() - time.done_ns)) {
      result.push_back(
          fmt::format("'{}' was held up for {:.0f} % of its time; it is taken to go on at the speed of its calls",
                      stage.name, 100 * blocked / static_cast<double>(time.sum_ns() - time.done_ns)));
    }
  }
  return result;
}

}  // namespace millrace
