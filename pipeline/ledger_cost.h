#pragma once

#include "pipeline/core/clock.h"
#include "pipeline/report.h"

namespace millrace {

/// What measuring cost in a run that made `calls` calls, changed the state of a stage `changes` times and read the CPU
/// clocks around `samples` turns: a stamp with its histogram entry, a change of the ledger and a reading are timed here
/// and now with the same code (a few ms), then multiplied.
LedgerCost calibrate_ledger(Clock& clock, std::uint64_t calls, std::uint64_t changes, std::uint64_t samples,
                            std::int64_t busy_ns);

}  // namespace millrace
