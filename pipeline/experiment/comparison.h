#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// What was measured: rates[arm][block], bytes per second (any unit will do, the same for all), nothing where that run
/// was left out. Arm 0 is the baseline, arm 1 the same settings again (A/A), the others are what is asked about.
using RatesByBlock = std::vector<std::vector<std::optional<double>>>;

/// When an experiment ends. Each field's default is what `compare` does when it is not told otherwise.
struct ComparisonDesign {
  double confidence = 0.95;          ///< of the intervals; 1 - confidence is also the error rate of all arms together
  double power = 0.90;               ///< chance to find an effect of the size that is looked for
  double equivalence_margin = 0.05;  ///< an interval within 1 +- this is "equivalent"
  std::optional<double> detect;      ///< smallest effect worth finding, 0.05 = 5 %; nothing = a fixed number of blocks
  std::uint32_t blocks = 6;          ///< with `detect`: the most; without: how many
  std::uint32_t pilot_blocks = 4;    ///< blocks before the first look, with `detect`
};

enum class ArmVerdict { faster, slower, equivalent, inconclusive };

/// "faster", "slower", "equivalent", "inconclusive".
const char* name_of(ArmVerdict verdict);

/// One arm against the baseline.
struct ArmEffect {
  std::uint32_t blocks = 0;  ///< in which both it and the baseline have a rate
  double ratio = 1;          ///< geometric mean of rate / baseline's rate within the blocks; 1 when there is no block
  /// Of `ratio`; at the last look of a design with `detect`, repeated-look corrected. Nothing with fewer than 2 blocks.
  std::optional<double> low;
  std::optional<double> high;
  std::optional<double> p_value;    ///< exact sign-flip test of all blocks' log ratios, two-sided
  std::optional<double> p_holm;     ///< the same, corrected for the number of arms asked about (not for A/A)
  std::uint32_t faster_blocks = 0;  ///< blocks in which the arm had the higher rate
  std::uint32_t slower_blocks = 0;
  ArmVerdict verdict = ArmVerdict::inconclusive;
  /// For inconclusive: further blocks until an effect of this size (or equivalence, if it is that near to 1) would be
  /// decided with the design's power, at the noise seen. Nothing when that cannot be said or is above 10,000.
  std::optional<std::uint32_t> further_blocks;
};

struct Comparison {
  std::vector<ArmEffect> arms;  ///< as the rates; arm 0 is the baseline itself (ratio 1, no interval)
  /// What identical arms differ by: the larger of the A/A arm's own effect and the half-width of its interval, as a
  /// ratio >= 1. An effect must exceed it to be called one. Nothing with fewer than 2 blocks of A/A.
  std::optional<double> noise_floor;
  /// The smallest effect, as a ratio >= 1, that this many blocks at this noise find with the design's power.
  std::optional<double> minimal_detectable_ratio;
  double log_sd = 0;                 ///< standard deviation of one block's log ratio, pooled over all arms
  bool decided = false;              ///< nothing is left to be found out by another block: stop
  std::uint32_t blocks_planned = 0;  ///< in all, by what is known now; at most design.blocks
};

/// What the rates say. Pure. Formulas and their sources are in the .cpp files of this directory.
Comparison compare(const RatesByBlock& rates, const ComparisonDesign& design);

}  // namespace millrace
