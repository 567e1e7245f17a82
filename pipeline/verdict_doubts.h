#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/verdict_analysis.h"

namespace millrace::verdict {

/// What speaks against trusting a verdict; each costs a step of confidence, a grave one two.
class Doubts {
 public:
  void add(int steps, std::string reason);

  void add_window(const Analysis& analysis);                     ///< too short to tell
  void add_machine(const Analysis& analysis);                    ///< other processes had the cores
  void add_count(const VerdictInput::PerStage& stage);           ///< too few chunks
  void add_split(const Analysis& analysis, std::size_t index);   ///< its busy time is of several kinds, or unknown
  void add_margin(const Analysis& analysis, std::size_t index);  ///< it is not far ahead of the next stage

  /// "sure", "likely", "unsure".
  std::string confidence() const;
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  int steps_ = 0;
  std::vector<std::string> reasons_;
};

}  // namespace millrace::verdict
