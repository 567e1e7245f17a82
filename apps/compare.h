#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/progress.h"
#include "pipeline/experiment/experiment_spec.h"

namespace millrace::apps {

struct CompareArguments {
  std::filesystem::path config;
  ExperimentRequest request;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugins;
  std::filesystem::path html;                ///< empty = none
  std::filesystem::path report;              ///< empty = none
  std::filesystem::path journal;             ///< empty = beside the report, none without one
  std::vector<std::filesystem::path> merge;  ///< reports to put together; the rest is not used then
  ProgressMode progress = ProgressMode::automatic;
  std::vector<std::string> command;  ///< the command line, for the report
};

/// As the functions of commands.h.
int compare_command(const CompareArguments& arguments);

}  // namespace millrace::apps
