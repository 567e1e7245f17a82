#include "pipeline/experiment/ladder_rungs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

/// Of several transforms, those are tried alone that need this share of what the busiest one needs. Freeing one with
/// less cannot gain a tenth beside the busiest.
constexpr double kContender = 0.5;
constexpr std::size_t kMostContenders = 3;

bool has(const Plan& plan, Role role) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [role](const StagePlan& s) { return s.role == role; });
}

PlannedRung rung(RungKind kind, Ablation ablation) { return {kind, name_of(kind), "", std::move(ablation)}; }

/// Transforms by what one slot of theirs needed in the recorded run, most first.
std::vector<std::string> contenders(const RunReport& recorded) {
  std::vector<std::pair<double, std::string>> demands;
  for (const StageReport& stage : recorded.stages) {
    if (stage.role != Role::transform) continue;
    demands.emplace_back(static_cast<double>(stage.time.busy_ns - stage.busy.run_delay_ns) / stage.slots, stage.name);
  }
  std::stable_sort(demands.begin(), demands.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  if (demands.size() < 2) return names;  // the only one is all of compute
  for (const auto& [demand, name] : demands) {
    if (names.size() < kMostContenders && demand >= kContender * demands.front().first) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<PlannedRung> choose_rungs(Plan& plan, const Recordings& recordings, const RunReport& recorded,
                                      std::vector<std::string>& remarks) {
  std::vector<PlannedRung> rungs{rung(RungKind::full, {})};
  const auto add = [&](PlannedRung planned) {
    const std::string missing = stage_without_recording(plan, recordings, planned.ablation);
    if (missing.empty()) {
      rungs.push_back(std::move(planned));
    } else {
      remarks.push_back(fmt::format("{} is left out: the memory budget has no room to record one chunk of '{}'",
                                    planned.label, missing));
    }
  };
  Ablation ablation;
  ablation.reading = true;
  add(rung(RungKind::reading_free, ablation));
  if (has(plan, Role::transform)) {
    ablation = {};
    ablation.compute = true;
    add(rung(RungKind::compute_free, ablation));
    ablation.waits = true;
    add(rung(RungKind::replayed, ablation));
    for (const std::string& name : contenders(recorded)) {
      ablation = {};
      ablation.stage = name;
      add({RungKind::stage_free, fmt::format("'{}' free", name), name, ablation});
    }
  }
  ablation = {};
  ablation.writing = true;
  add(rung(RungKind::writing_free, ablation));
  ablation = {};
  ablation.deeper_links = deepest_links(plan, recordings);
  if (ablation.deeper_links > 1) {
    add({RungKind::deeper_links, fmt::format("links x{}", ablation.deeper_links), "", ablation});
  } else {
    remarks.emplace_back("deeper links are left out: the memory budget has no room for them");
  }
  return rungs;
}

std::vector<PlannedRung> choose_pairs(const Plan& plan, const Recordings& recordings) {
  std::vector<PlannedRung> rungs{rung(RungKind::full, {})};
  const bool computes = has(plan, Role::transform);
  const auto add = [&](RungKind kind, bool reading, bool compute, bool writing) {
    Ablation ablation;
    ablation.reading = reading;
    ablation.compute = compute;
    ablation.writing = writing;
    if (stage_without_recording(plan, recordings, ablation).empty()) rungs.push_back(rung(kind, ablation));
  };
  add(RungKind::reading_writing_free, true, false, true);
  if (computes) {
    add(RungKind::reading_compute_free, true, true, false);
    add(RungKind::compute_writing_free, false, true, true);
  }
  return rungs;
}

}  // namespace millrace
