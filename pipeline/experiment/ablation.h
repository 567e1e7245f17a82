#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/core/clock.h"
#include "pipeline/experiment/ablation_recording.h"
#include "pipeline/plan.h"

namespace millrace {

/// What a run is freed of. Everything false: the run as configured.
struct Ablation {
  bool reading = false;  ///< sources give recorded chunks from memory
  bool compute = false;  ///< every transform gives its recorded outputs
  bool writing = false;  ///< sinks forget
  std::string stage;     ///< this transform alone gives its recorded outputs; empty = none
  /// Transforms that give recorded outputs take their recorded times for it, asleep; each slot gets a worker.
  bool waits = false;
  std::uint32_t deeper_links = 1;  ///< bounds of all links times this
};

/// What was recorded of a plan's sources and transforms, by index in Plan::stages; null for sinks.
using Recordings = std::vector<std::shared_ptr<Recording>>;

/// The most that recordings may take: half of what the memory budget leaves beside the plan. The other half is for
/// deeper links.
std::uint64_t recording_room(const Plan& plan);

/// Wraps the sources and transforms of a prepared plan so that its run is recorded, each within the same part of
/// `room_bytes`. The recordings are to be sealed after the run.
Recordings record_stages(Plan& plan, std::uint64_t room_bytes, Clock& clock);

/// Replaces stages of a prepared plan of the same config. Sinks that are replaced are abandoned, so they leave nothing.
/// The recordings are sealed and outlive the run. Updates Plan::memory.
void ablate(Plan& plan, const Recordings& recordings, const Ablation& ablation, Clock& clock);

/// Name of the first stage that `ablation` needs a recording of and that none could be made of, because not even one
/// chunk had room; empty when there is none. (A stage that was given nothing has an empty recording, which is right.)
std::string stage_without_recording(const Plan& plan, const Recordings& recordings, const Ablation& ablation);

/// The largest of 16, 8, 4, 2 by which the bounds of the links may be multiplied within the budget, recordings
/// included; 1 when there is none.
std::uint32_t deepest_links(Plan& plan, const Recordings& recordings);

}  // namespace millrace
