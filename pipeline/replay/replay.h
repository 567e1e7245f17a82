#pragma once

#include "pipeline/replay/recorded_run.h"
#include "pipeline/report.h"

namespace millrace {

/// Runs a recorded run again on paper: the real FlowState on a clock that jumps from event to event, with the recorded
/// times of the calls. Threads, workers and who runs next are as in Graph; the CPU parts of all calls under way share
/// run.cores (SharedCores), waiting takes no core, and a woken thread runs RecordedStage::wake_ns later. The sources
/// make as many chunks as were recorded; a stage that gets more chunks than it did then begins with its first call
/// again.
///
/// The report has what a verdict is made of: wall_ns, threads, environment.cpus, stages (counts, time, busy, call, io)
/// and links, and its verdict is filled in. Pure and deterministic. Error (kind config) when the run cannot come to its
/// end, which a record that was written by a run can.
RunReport replay(const RecordedRun& run);

}  // namespace millrace
