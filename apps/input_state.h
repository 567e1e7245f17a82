#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/interruption.h"
#include "pipeline/experiment/comparison_report.h"

namespace millrace::apps {

/// What the page cache holds of the inputs of a run, and whether that is what the experiment asks for.
struct InputState {
  double resident = -1;  ///< share of the bytes; negative: not known
  std::string problem;   ///< why a run from here must be left out; empty = it counts
};

/// Brings the inputs into the state that `mode` asks for (evicts them, reads them, or leaves them alone) and looks at
/// what came of it. Returns early when interrupted. Error with the path for an input that cannot be read or evicted.
InputState bring_inputs_to(CacheMode mode, const std::vector<std::filesystem::path>& inputs,
                           Interruption& interruption);

/// Judges a share of the inputs in the page cache by what `mode` asks for; `when` says when it was looked at.
InputState judged(CacheMode mode, double resident, const std::string& when);

/// Error (kind config) when no run of these inputs can be what `mode` asks for: there are none, they are on a file
/// system without a device, or the kernel does not tell what it has cached of them.
void require_possible(CacheMode mode, const std::vector<std::filesystem::path>& inputs);

/// Cold where all inputs are files of a device, else as they are.
CacheMode usual_mode(const std::vector<std::filesystem::path>& inputs);

}  // namespace millrace::apps
