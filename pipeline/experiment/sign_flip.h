#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace {

/// A two-sided sign-flip p value. If an arm is no different, each of its differences could as well have had the other
/// sign; p is the share of all sign patterns whose sum is at least as far from 0 as the one that was seen. It asks
/// nothing of the noise but that it is symmetric. With n differences other than 0 it is at least 2 / 2^n: below 6
/// blocks it cannot get under 0.05, however large the effect.
struct SignFlip {
  double p = 1;
  bool exact = true;
  /// Above kMostExactDifferences p is an estimate, (patterns found + 1) / (patterns drawn + 1), which still keeps its
  /// error rate as a test; the p of all patterns is within this of it, but for one time in a hundred. 0 when exact.
  double uncertainty = 0;
};

/// Exact up to here: the sums of either half of the differences are sorted and matched, 2^20 of each at most.
constexpr std::size_t kMostExactDifferences = 40;
/// Patterns drawn (always the same ones) when there are more.
constexpr std::uint32_t kDrawnPatterns = 100'000;

/// Of finite differences. Sums that differ by no more than rounding (1e-12 of the sum of all magnitudes) count as
/// equal; differences of 0 have no sign to flip and change nothing. No differences at all, or only zeros: p = 1.
SignFlip sign_flip(std::span<const double> differences);

}  // namespace millrace
