#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/generate_nanopore.h"
#include "apps/progress.h"
#include "pipeline/core/registry.h"

namespace millrace::apps {

/// The stages of this program and of the plugins, in this order.
Registry make_registry(const std::vector<std::filesystem::path>& plugins);

struct RunArguments {
  std::filesystem::path config;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugins;
  std::filesystem::path report;  ///< empty = none
  std::filesystem::path html;    ///< empty = none
  ProgressMode progress = ProgressMode::automatic;
  bool explain = false;
  bool record = false;               ///< keep every turn in the report, for `explain`
  bool evict = false;                ///< the page cache forgets the inputs before the first byte is read
  std::vector<std::string> command;  ///< the command line, for the report
};

struct CheckArguments {
  std::filesystem::path config;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugins;
};

struct StagesArguments {
  std::string name;  ///< empty = all
  std::vector<std::filesystem::path> plugins;
  bool markdown = false;
};

struct ReportArguments {
  std::filesystem::path report;
  std::filesystem::path other;  ///< empty = print `report`
  std::filesystem::path html;   ///< `report` as a page instead of text; empty = text
  std::filesystem::path json;   ///< of the difference; empty = none
  std::optional<double> fail_on_slower;
  bool explain = false;
};

struct GenerateRawArguments {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 1;
};

/// One function per command. Each prints to standard output and gives the program's exit code. What goes wrong is
/// thrown (Error), but for failures of a run that has begun, which run_command says itself because it has a report to
/// show with them.
int run_command(const RunArguments& arguments);
int check_command(const CheckArguments& arguments);
int stages_command(const StagesArguments& arguments);
int report_command(const ReportArguments& arguments);
int generate_nanopore_command(const GenerateNanopore& options);
int generate_raw_command(const GenerateRawArguments& arguments);

}  // namespace millrace::apps
