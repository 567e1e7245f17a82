#pragma once

#include <vector>

#include "pipeline/report.h"

namespace millrace {

/// Cuts a run into warm_up, steady (one, or several with a verdict each when the bottleneck changed for good) and
/// drain; each with the verdict of its own stretch. The phases follow each other without gaps from 0 to wall_ns.
/// - Warm-up ends when every stage has had its first chunk and the links hold about what they hold later.
/// - Drain begins when the last source is done.
/// - A run with too few samples, or whose steady part would be less than a quarter, is one steady phase.
/// Pure; uses the stages, links, samples, threads, cores and wall time of the report.
std::vector<Phase> find_phases(const RunReport& report);

/// The phase the run's own verdict comes from: the longest steady one. `phases` is not empty.
const Phase& main_phase(const std::vector<Phase>& phases);

}  // namespace millrace
