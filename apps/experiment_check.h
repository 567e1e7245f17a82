#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/core/registry.h"
#include "pipeline/experiment/experiment_spec.h"

namespace millrace::apps {

/// What is known of an experiment before its first run.
struct CheckedExperiment {
  /// Files that the sources of an arm read, for every file of the rotation (one entry without).
  std::vector<std::vector<std::vector<std::filesystem::path>>> inputs;  // [arm][file]
  std::string name;                                                     ///< of the baseline's pipeline
  std::string config_json;                                              ///< of the baseline

  /// The inputs of the `number`th run of the experiment.
  const std::vector<std::filesystem::path>& inputs_of(std::size_t arm, std::uint64_t number) const {
    return inputs.at(arm)[number % inputs.at(arm).size()];
  }
  /// All of them, each once.
  std::vector<std::filesystem::path> all_inputs() const;
};

/// Prepares every arm as its runs would, with every file of the rotation, so that a mistake in the last arm costs no
/// run. Error (kind config) that names the arm.
CheckedExperiment check_experiment(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                                   const ExperimentSpec& experiment, const Registry& registry);

}  // namespace millrace::apps
