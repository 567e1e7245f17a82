#pragma once

#include <string>

#include "pipeline/report.h"

namespace millrace {

struct TextStyle {
  bool colour = false;  ///< ANSI colours; for terminals
};

/// The report for people: at most 100 columns (a stage name may be longer), every figure with its unit, shares of slot
/// time (slots x wall) in the table, "-" where a state cannot occur. Ends in a newline. Uses the report as it is:
/// complete_report() comes first.
std::string to_text(const RunReport& report, const TextStyle& style = {});

}  // namespace millrace
