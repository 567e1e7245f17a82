#pragma once

#include <string>

#include "pipeline/experiment/ladder.h"

namespace millrace {

/// The ladder for people, at most 100 columns: the table of rungs, what limits and why, what each freed resource would
/// give, and whether the ledger's verdict agrees. Ends in a newline.
std::string to_text(const Ladder& ladder);

/// The same as one JSON object, schema "millrace.explain/1":
///
///     schema name unit repeats limit_s cache interrupted
///     rungs[{ kind label stage rates[] rate ratio ci95[2] }]     rates: null where a run was left out
///     finding{ limit stage ceiling reasons[] }
///     verdict{ kind stage confidence ceiling } verdict_runs full_runs
///     agreement{ kind(agree|disagree|not_comparable) why } remarks[]
std::string to_json(const Ladder& ladder);

}  // namespace millrace
