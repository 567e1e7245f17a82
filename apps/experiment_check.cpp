#include "apps/experiment_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/config.h"
#include "pipeline/core/stage.h"
#include "pipeline/plan.h"

namespace millrace::apps {
namespace {

using Paths = std::vector<std::filesystem::path>;

Paths input_files(const Plan& plan) {
  Paths result;
  for (const auto& stage : plan.stages) {
    const auto files = stage.instances.front()->input_files();
    result.insert(result.end(), files.begin(), files.end());
  }
  return result;
}

}  // namespace

Paths CheckedExperiment::all_inputs() const {
  Paths result;
  for (const auto& arm : inputs) {
    for (const auto& files : arm) result.insert(result.end(), files.begin(), files.end());
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

CheckedExperiment check_experiment(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                                   const ExperimentSpec& experiment, const Registry& registry) {
  CheckedExperiment result;
  result.inputs.resize(experiment.arms.size());
  const std::size_t files = std::max<std::size_t>(1, experiment.rotate_files.size());
  for (std::size_t arm = 0; arm < experiment.arms.size(); ++arm) {
    for (std::size_t file = 0; file < files; ++file) {
      try {
        std::vector<std::string> all = overrides;
        for (auto& change : experiment.overrides_of(arm, file)) all.push_back(std::move(change));
        const PipelineSpec spec = load_config(config, all);
        const Plan plan = prepare(spec, registry);
        result.inputs[arm].push_back(input_files(plan));
        if (result.name.empty()) {
          result.name = spec.name;
          result.config_json = spec.json;
        }
      } catch (const Error& error) {
        throw config_error(fmt::format("arm '{}': {}", experiment.arms[arm].label, error.what()));
      }
    }
  }
  return result;
}

}  // namespace millrace::apps
