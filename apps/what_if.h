#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::apps {

struct WhatIfArguments {
  std::filesystem::path report;        ///< of `run --record`
  std::vector<std::string> scenarios;  ///< each "decode.slots=4,read.rate=2x"
  bool advise = false;
  bool verify = false;
  std::uint32_t repeats = 3;   ///< of --verify: runs with and without each change
  bool force = false;          ///< predict although the replay does not agree with the run
  std::filesystem::path json;  ///< empty = none
};

/// Replays a recorded run, with nothing changed and with each scenario, and prints what each would have gained and what
/// would then be the bottleneck; with `verify` runs the config with and without the change and prints what came of it.
/// Outputs of the pipeline are then written again. Gives the program's exit code: kRunFailed when the replay does not
/// agree with the run (unless forced) or a verifying run fails. Error (kind config) for a report without a record and
/// for a scenario that makes no sense.
int what_if_command(const WhatIfArguments& arguments);

}  // namespace millrace::apps
