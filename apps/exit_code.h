#pragma once

namespace millrace::apps {

/// What the program returns to its caller; part of the contract with scripts.
enum ExitCode : int {
  kDone = 0,
  kRunFailed = 1,      ///< input, output or a stage failed
  kUsageError = 2,     ///< command line or config; nothing was run
  kLossExceeded = 3,   ///< ran to the end, but more chunks were dropped than the loss budget allows
  kStalled = 4,        ///< the watchdog ended the run
  kInterrupted = 130,  ///< stopped by a signal, outputs kept as partial or removed
};

}  // namespace millrace::apps
