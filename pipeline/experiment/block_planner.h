#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "pipeline/experiment/comparison.h"
#include "pipeline/experiment/power.h"

namespace millrace {

/// Answers "how many blocks" and "how small an effect" for one design and number of arms. Effects are natural
/// logarithms of ratios, deviations those of one block's log ratio. Answers are about the verdict, with all that it
/// demands, at the strictness of one look; the design's power is meant where no other is named.
class BlockPlanner {
 public:
  /// `arms` as in RatesByBlock, so with the baseline and the A/A arm. Corrects for all the others as Holm does for the
  /// first of them.
  BlockPlanner(const ComparisonDesign& design, std::size_t arms);

  /// Until an arm with this true effect is called faster or slower. Nothing for no effect, or above kMostBlocksPlanned.
  std::optional<std::uint32_t> until_claimed(double effect, double deviation) const;

  /// Until the interval of an arm with this true effect lies within 1 +- margin. Nothing for an effect outside, or
  /// above kMostBlocksPlanned.
  std::optional<std::uint32_t> until_equivalent(double effect, double deviation, double margin) const;

  /// Whichever of the two comes first.
  std::optional<std::uint32_t> until_settled(double effect, double deviation, double margin) const;

  /// The smallest true ratio above 1 that `blocks` blocks, 2 or more, show with the design's power.
  double detectable_ratio(std::uint32_t blocks, double deviation) const;

  /// What a design with `detect` needs: to claim an effect of that size, and to show equivalence where there is none.
  std::optional<std::uint32_t> until_decided(double deviation) const;

 private:
  ComparisonDesign design_;
  VerdictStrictness strictness_;
};

/// The margin within which equivalence ends the search for an effect: the design's, or `detect` if that is smaller, for
/// only then is an effect of that size ruled out.
double margin_to_stop_at(const ComparisonDesign& design);

}  // namespace millrace
