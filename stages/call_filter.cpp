#include "stages/call_filter.h"

#include <string>
#include <utility>

namespace millrace {

CallFilter::CallFilter(const Options& options)
    : min_quality_(options.get<double>("min_qscore", 0, "reads of a lower mean quality are refused and counted")),
      min_bases_(options.get<std::uint64_t>("min_length", 0, "reads of fewer bases are refused and counted")) {
  if (!(min_quality_ >= 0 && min_quality_ <= kMaxQuality)) {
    throw options.error_at("min_qscore", "'min_qscore' must be 0 to " + std::to_string(kMaxQuality));
  }
}

bool CallFilter::accepts(const Attributes& attributes, const Basecalls& calls) {
  if (calls.bases.empty()) {
    ++without_bases_;
  } else if (calls.bases.size() < min_bases_) {
    ++too_short_;
  } else if (min_quality_ > 0 && mean_quality_of(attributes, calls) < min_quality_) {
    ++too_poor_;
  } else {
    return true;
  }
  return false;
}

Findings CallFilter::findings() const {
  Findings findings;
  for (const auto& [reason, reads] :
       {std::pair("no bases", without_bases_), std::pair("fewer bases than min_length", too_short_),
        std::pair("quality below min_qscore", too_poor_)}) {
    if (reads != 0) findings.refused.push_back({reason, reads});
  }
  return findings;
}

}  // namespace millrace
