#pragma once

#include "pipeline/experiment/comparison_report.h"

namespace millrace::test {

/// Six repeats of a baseline, the same again, an arm that is 10 % faster and one that is no different, with one run
/// left out; every field filled, complete_comparison() done.
ComparisonReport small_comparison();

/// A hash that stands for some contents.
std::string digest(char digit);

}  // namespace millrace::test
