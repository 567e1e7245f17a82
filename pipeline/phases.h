#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/report.h"
#include "pipeline/verdict.h"

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

/// Whether the slot time of any stage was spent otherwise in `b` than in `a`, two stretches of one run: a verdict near
/// a threshold may change without that anything did.
bool spent_otherwise(const VerdictInput& a, const VerdictInput& b);

/// A stretch of a run with what it did there.
struct RunWindow {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double rate = 0;                   ///< units of Delivered per second
  std::uint64_t resident_bytes = 0;  ///< at its end; 0 = not known
  Verdict verdict;
};

/// The whole run cut into windows of equal numbers of samples, at most `most` of them, at least 4 samples each where
/// there are as many; empty for a report without samples and time. Pure.
std::vector<RunWindow> run_windows(const RunReport& report, std::size_t most);

}  // namespace millrace
