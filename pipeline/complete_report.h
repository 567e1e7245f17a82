#pragma once

#include "pipeline/report.h"

namespace millrace {

/// Adds what follows from the engine's figures: closure error, phases, verdict (of the longest steady phase), links'
/// mean wait by Little's law where the engine left it 0, bytes copied per byte delivered, blame and stalls in order
/// (largest first; 10 stalls). An "ok" run becomes "failed" when its ledger or its loss account does not close: the
/// self-check. May be called again on its own result.
void complete_report(RunReport& report);

}  // namespace millrace
