#pragma once

#include <cstddef>
#include <vector>

#include "stages/event_detector.h"

namespace millrace::test {

struct ReferenceEvent {
  std::size_t start;
  std::size_t length;
  double mean;
  double stdv;
};

/// Event detection as the text describes it, sample by sample, every window summed anew: slow, and written without a
/// look at event_detector.cpp.
std::vector<ReferenceEvent> reference_events(const std::vector<double>& signal, const EventSettings& settings);

}  // namespace millrace::test
