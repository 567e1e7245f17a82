#pragma once

#include <string>

#include "pipeline/report.h"

namespace millrace::apps {

/// The report as standard output gets it: coloured on a terminal; with `explain`, the rule behind the verdict below.
std::string text_of(const RunReport& report, bool explain);

/// What changed from `before` to `after`: wall time, rate, verdict, and the shares of slot time of every stage. Two
/// single runs say nothing about noise, and the text says so.
std::string difference_text(const RunReport& before, const RunReport& after);

}  // namespace millrace::apps
