#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/experiment/comparison.h"

namespace millrace {

/// After how many blocks the experiment may be ended because of what it has shown, ascending; the last is
/// design.blocks. Without `detect` that is the only one. With it: after the pilot blocks, then each time about a
/// quarter later.
std::vector<std::uint32_t> looks_of(const ComparisonDesign& design);

/// The error rate of one arm's interval at one look: (1 - confidence) / number of looks. Whoever stops at whichever
/// look he likes best then still has an interval that misses with at most 1 - confidence (Bonferroni's inequality, so
/// it holds for any noise for which one interval does, and for any pattern of runs left out). The reasons for this
/// scheme are in pipeline/DESIGN.md, "Experiments: the statistics".
double error_rate_of_a_look(const ComparisonDesign& design);

}  // namespace millrace
