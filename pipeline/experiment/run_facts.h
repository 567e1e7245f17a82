#pragma once

#include "pipeline/experiment/comparison_report.h"

namespace millrace {

/// What a comparison needs of a run's report: rate, verdict and mechanism. `excluded`, the place in the experiment, the
/// cache before the program began and the outputs are for others to fill in. The rate is 0 when the run delivered
/// nothing. Pure.
ComparisonRun facts_of(const RunReport& report);

/// True when the rate of such a run is in bytes, false when in chunks.
inline bool counts_bytes(const ComparisonRun& run) { return run.bytes > 0; }

}  // namespace millrace
