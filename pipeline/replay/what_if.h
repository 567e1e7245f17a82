#pragma once

#include <string>
#include <vector>

#include "pipeline/replay/change.h"
#include "pipeline/replay/recorded_run.h"
#include "pipeline/report.h"

namespace millrace {

/// A replay of the unchanged run may be off by this much; further off, what it says of a change is worth nothing.
inline constexpr double kMaxReplayError = 0.15;

/// A recorded run and how well its replay, with nothing changed, agrees with it.
struct Calibration {
  RecordedRun run;       ///< with delay_ns filled in
  RunReport replayed;    ///< of the unchanged run
  double real_rate = 0;  ///< chunks per second of the run itself
  double replayed_rate = 0;

  /// 0.02: the replay is 2 % faster than the run was.
  double error() const { return real_rate > 0 ? replayed_rate / real_rate - 1 : 0; }
  /// Within kMaxReplayError, as a ratio in either direction.
  bool trusted() const;
};

/// Replays the run with nothing changed. What the turns of a stage lasted longer than in the replay, because other
/// processes had the cores, is added to every turn alike (RecordedStage::delay_ns), and the run is replayed once more.
/// Errors as recorded_run() and replay().
Calibration calibrate(const RunReport& report);

/// What a change would have made of the run.
struct Prediction {
  std::vector<Change> changes;
  double gain = 1;     ///< rate / rate of the replay with nothing changed
  RunReport replayed;  ///< its verdict names the next bottleneck
};

/// Error (kind config) as apply().
Prediction predict(const Calibration& calibration, const std::vector<Change>& changes);

/// What the prediction takes for granted, one sentence each: only what matters for these changes.
std::vector<std::string> assumptions(const Calibration& calibration, const std::vector<Change>& changes);

}  // namespace millrace
