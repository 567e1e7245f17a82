#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// What was measured: rates[arm][block], bytes per second (any unit will do, the same for all), nothing where that run
/// was left out. Arm 0 is the baseline, arm 1 the same settings again (A/A), the others are what is asked about. Rates
/// are positive and finite, and all arms have the same number of blocks.
using RatesByBlock = std::vector<std::vector<std::optional<double>>>;

/// When an experiment ends. Each field's default is what `compare` does when it is not told otherwise.
struct ComparisonDesign {
  double confidence = 0.95;          ///< of the intervals; 1 - confidence is also the error rate of all arms together
  double power = 0.90;               ///< chance to find an effect of the size that is looked for
  double equivalence_margin = 0.05;  ///< an interval within 1 +- this is "equivalent"
  std::optional<double> detect =
      std::nullopt;                ///< smallest effect worth finding, 0.05 = 5 %; nothing = a fixed number of blocks
  std::uint32_t blocks = 6;        ///< with `detect`: the most; without: how many
  std::uint32_t pilot_blocks = 4;  ///< blocks before the first look, with `detect`; fewer when `blocks` is
};

enum class ArmVerdict { faster, slower, equivalent, inconclusive };

/// "faster", "slower", "equivalent", "inconclusive".
const char* name_of(ArmVerdict verdict);

/// One arm against the baseline.
struct ArmEffect {
  std::uint32_t blocks = 0;  ///< in which both it and the baseline have a rate
  double ratio = 1;          ///< geometric mean of rate / baseline's rate within the blocks; 1 when there is no block
  /// Student-t interval of `ratio`, for this arm alone; with `detect` wide enough to hold at all looks together.
  /// Nothing with fewer than 2 blocks.
  std::optional<double> low;
  std::optional<double> high;
  /// What a claim goes by: the p value of the interval's own t test, times the number of looks, Holm-corrected for the
  /// number of arms asked about. At most 1 - confidence or no claim. For the only arm of an experiment that is the same
  /// as that the interval excludes 1; of several arms, some may exclude 1 without a claim. Nothing for arms 0 and 1.
  std::optional<double> p_claim;
  /// Sign-flip test of all blocks' log ratios, two-sided: a second opinion that does not need normal noise. No verdict
  /// hangs on it, because with n blocks it is never below 2 / 2^n. Not corrected for looks.
  std::optional<double> p_value;
  std::optional<double> p_holm;     ///< the same, corrected for the number of arms asked about (not for A/A)
  bool p_exact = true;              ///< false above 40 blocks: p_value is then estimated, see sign_flip.h
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
  /// ratio >= 1. An effect must exceed it to be called one. Nothing with fewer than 2 blocks of A/A: then none is.
  std::optional<double> noise_floor;
  /// The smallest effect, as a ratio >= 1, that this many blocks at this noise find with the design's power: the claim,
  /// noise floor and correction for arms and looks included. Nothing with fewer than 2 blocks, or no arm asked about.
  std::optional<double> minimal_detectable_ratio;
  double log_sd = 0;                 ///< standard deviation of one block's log ratio, pooled over all arms
  bool decided = false;              ///< nothing is left to be found out by another block: stop
  std::uint32_t blocks_planned = 0;  ///< in all, by what is known now; at most design.blocks
  /// With `detect`, from the pilot on: blocks that it takes at this noise to find an effect of that size, and to show
  /// equivalence where there is none, each with the design's power. May exceed design.blocks: then the experiment is
  /// too small for what is asked. Nothing without `detect`, before the pilot is done, or above 10,000.
  std::optional<std::uint32_t> blocks_needed;
};

/// Throws Error, naming arm and block, when rates are not as RatesByBlock says.
void require_rates(const RatesByBlock& rates);

/// What the rates say. Pure. Formulas and their sources are in the files of this directory, the reasons in
/// pipeline/DESIGN.md, "Experiments: the statistics". Throws Error for rates as above, and for a design whose
/// confidence, power, margin or effect makes no sense.
Comparison compare(const RatesByBlock& rates, const ComparisonDesign& design);

/// The part of compare() that verdicts and stopping rest on, without what is only for information: p_value, p_holm,
/// further_blocks, minimal_detectable_ratio, blocks_needed, and without planning ahead in blocks_planned.
Comparison decide(const RatesByBlock& rates, const ComparisonDesign& design);

}  // namespace millrace
