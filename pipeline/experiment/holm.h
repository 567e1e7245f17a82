#pragma once

#include <span>
#include <vector>

namespace millrace {

/// Holm's step-down correction (1979): the k-th smallest of m p values times m - k + 1, no smaller than the one before
/// it and at most 1. In the order of the input. To claim every arm whose corrected p is at most a is to make one false
/// claim or more with a probability of at most a, however the arms depend on each other.
std::vector<double> holm(std::span<const double> p_values);

}  // namespace millrace
