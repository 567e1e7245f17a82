#pragma once

#include "pipeline/core/options.h"
#include "stages/event_detector.h"

namespace millrace {

/// What the option `preset` of a stage names: the numbers of event detection for a pore and speed.
struct EventPreset {
  const char* name = nullptr;
  EventSettings settings;
  bool rna = false;
};

/// Reads the option `preset`; "r9_450bps" is its default. The parameter sets of UNCALLED4. Error (kind config) for
/// another name.
EventPreset event_preset(const Options& options);

}  // namespace millrace
