#pragma once

#include <string>

#include "pipeline/experiment/comparison_report.h"

namespace millrace {

/// Schema millrace.compare/1, one JSON object. Names ending in _s are seconds, rates are of `unit` per second, shares
/// and ratios are numbers, blocks count from 0; what is not known is null. Bytes that are no UTF-8 become U+FFFD.
/// Error (kind run) when config_json is no JSON object.
///
/// Additions to the contract: beside the runs everything that the effects, the text and the page are made from, so that
/// whoever has the file can compute them again.
std::string to_json(const ComparisonReport& report);

/// The report that to_json() wrote: the facts are read, and everything that follows from them is worked out again
/// (complete_comparison()), so that figures that were edited do not survive. Unknown keys are ignored. Error (kind
/// config) for anything else: no JSON, another schema, a missing key, a wrong type, an arm without its place in the
/// blocks.
ComparisonReport comparison_from_json(const std::string& text);

}  // namespace millrace
