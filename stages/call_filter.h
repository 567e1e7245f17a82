#pragma once

#include <cstdint>

#include "pipeline/core/stage.h"
#include "stages/basecalls.h"

namespace millrace {

/// Which called reads a file gets, for the sinks that write them: those with a call, of at least `min_length` bases and
/// a mean quality of at least `min_qscore`. The others count as refused, for the first reason that holds. A read
/// without bases has no record in any file: empty lines and '*' break programs downstream.
class CallFilter {
 public:
  /// Reads the options. Error (kind config) for what cannot be.
  explicit CallFilter(const Options& options);

  /// Whether the read is to be written; counts it when it is not.
  bool accepts(const Attributes& attributes, const Basecalls& calls);
  /// The reads not written, by reason.
  Findings findings() const;

 private:
  double min_quality_;
  std::uint64_t min_bases_;
  std::uint64_t without_bases_ = 0;
  std::uint64_t too_short_ = 0;
  std::uint64_t too_poor_ = 0;
};

}  // namespace millrace
