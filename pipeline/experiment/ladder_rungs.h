#pragma once

#include <string>
#include <vector>

#include "pipeline/experiment/ablation.h"
#include "pipeline/experiment/ladder.h"
#include "pipeline/plan.h"
#include "pipeline/report.h"

namespace millrace {

/// One rung before it is run.
struct PlannedRung {
  RungKind kind = RungKind::full;
  std::string label;
  std::string stage;
  Ablation ablation;
};

/// The rungs of a plan, `full` first: reading, compute (at once and replayed) and writing free, each as far as the plan
/// has such stages; deeper links where the memory budget has room; and, with two transforms or more, the busiest of
/// them alone. `recorded` is the report of the run that was recorded. Rungs that lack a recording are left out, with a
/// line in `remarks`.
std::vector<PlannedRung> choose_rungs(Plan& plan, const Recordings& recordings, const RunReport& recorded,
                                      std::vector<std::string>& remarks);

/// For a run that no single resource holds up: two of them free at a time. `full` first.
std::vector<PlannedRung> choose_pairs(const Plan& plan, const Recordings& recordings);

}  // namespace millrace
