#pragma once

#include <string>
#include <vector>

#include "pipeline/replay/what_if.h"

namespace millrace {

/// An advice must promise this much, or it is not given.
inline constexpr double kWorthwhileGain = 1.03;

/// What is worth changing in a recorded run, found by trying.
struct Advice {
  std::vector<Prediction> worth;     ///< gain >= kWorthwhileGain, the largest first
  std::vector<std::string> refused;  ///< what was not even tried, one sentence each with why
  std::size_t tried = 0;             ///< replays made
};

/// The single changes that are worth a try, by what the run shows: a part of a stage's time twice as fast, one more
/// slot and twice as many for parallel transforms, all cores as workers, links four times as deep. Nothing goes above
/// the machine's cores. Reading is left out when nobody starved for it, writing when nobody was blocked by it, threads
/// and slots in a run whose verdict is I/O or its instrument's pace; `refused` gets a sentence for each. `verdict`: of
/// the run itself.
std::vector<Change> changes_to_try(const Calibration& calibration, const Verdict& verdict,
                                   std::vector<std::string>& refused);

/// Tries them one by one and in pairs of the best; a pair is kept when it gains 3 % more than either part.
Advice advise(const Calibration& calibration, const Verdict& verdict);

}  // namespace millrace
