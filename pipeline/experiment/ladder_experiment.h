#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/experiment/ladder.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"

namespace millrace {

/// How the runs of a ladder are made. The functions are called from the thread of run_ladder(), one at a time.
struct LadderSettings {
  /// A prepared plan of the config; the same stages in the same order each time.
  std::function<Plan()> make_plan;
  /// Puts the inputs into the state that every run begins with. What it returns is why the run cannot count; empty: it
  /// counts. May be empty itself.
  std::function<std::string()> before_run;
  /// After every run, e.g. to remove what it has published.
  std::function<void(const RunReport&)> after_run;
  /// "repeat 2 of 3, run 4 of 7: writing free"; may be empty.
  std::function<void(const std::string&)> on_progress;
  std::function<std::unique_ptr<Pool>(const PoolSpec&)> make_pool;  ///< as RunSettings
  RunControl* control = nullptr;  ///< drain or stop: the ladder ends; null = cannot be stopped from outside
  Clock* clock = nullptr;         ///< null = monotonic_clock()
  std::uint32_t repeats = 3;
  std::int64_t limit_ns =
      10'000'000'000;      ///< most time of one run; its sources then stop, and what is in flight counts
  std::uint64_t seed = 1;  ///< of the order
};

/// A run of the ladder that failed is the failure of the ladder.
struct LadderOutcome {
  Ladder ladder;
  std::string failure;             ///< one line; empty = none
  std::vector<std::string> stuck;  ///< as RunOutcome: the process must end at once
};

/// Records one run of the config, then runs all rungs `repeats` times, in each block in another random order, and
/// judges them. Where no single resource turns out to limit, pairs of them are tried in as many blocks more. Blocks for
/// as long as that takes. Rates are of bytes that the sources gave (chunks when those have no bytes) over the wall time
/// until the last of them had arrived, so links that only fill are not taken for speed.
/// Error when the sources give nothing. Failures of runs are in the outcome.
LadderOutcome run_ladder(const LadderSettings& settings);

}  // namespace millrace
