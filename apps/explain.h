#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::apps {

struct ExplainArguments {
  std::filesystem::path config;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugins;
  std::uint32_t repeats = 3;
  std::uint32_t seconds = 10;  ///< most time of one run; then its sources stop
  std::string cache = "auto";  ///< "auto", "cold", "warm", "as-is": of the inputs, before every run
  std::uint64_t seed = 1;      ///< of the order of the runs
  std::filesystem::path json;  ///< empty = none
};

/// The ablation ladder of a config: runs it as it is and with one resource after the other made free, prints what each
/// rate says of the bottleneck, and whether the ledger's verdict agrees. Leaves no output of the pipeline behind. Gives
/// the program's exit code; throws Error like run_command.
int explain_command(const ExplainArguments& arguments);

}  // namespace millrace::apps
