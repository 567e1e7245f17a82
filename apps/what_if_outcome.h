#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/replay/advice.h"
#include "pipeline/replay/what_if.h"
#include "pipeline/report.h"

namespace millrace::apps {

/// What running a change really gave.
struct Verification {
  std::vector<double> base_rates;     ///< chunks per second, one per repeat
  std::vector<double> changed_rates;  ///< of the run in the same repeat
  std::string unverifiable;           ///< why nothing was run; empty otherwise
  std::string verdict;                ///< key of the last changed run's verdict
  /// Geometric mean of the ratios within the repeats; 0 when nothing was run.
  double gain() const;
  double lowest() const;
  double highest() const;
};

struct Scenario {
  Prediction prediction;
  bool advised = false;  ///< found by --advise, not asked for
  std::optional<Verification> verification;
};

/// Everything that `explain RUN.json` found.
struct WhatIfOutcome {
  std::string report_path;
  double bytes_per_chunk = 0;  ///< of what the sources gave; 0 = nothing or not known
  Verdict recorded;            ///< verdict of the run itself
  Calibration calibration;
  std::vector<std::string> assumptions;
  std::vector<Scenario> scenarios;
  bool advised = false;
  std::vector<std::string> refused;  ///< of --advise
  std::size_t tried = 0;             ///< likewise
};

/// Lines of the replay with nothing changed: rates, error, both verdicts.
std::string calibration_text(const WhatIfOutcome& outcome);
/// Table of the scenarios, refusals and assumptions.
std::string what_if_text(const WhatIfOutcome& outcome);
/// Schema millrace.what_if/1.
std::string what_if_json(const WhatIfOutcome& outcome);

}  // namespace millrace::apps
