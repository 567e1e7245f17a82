#pragma once

namespace millrace::apps {

// What the program returns to its caller; part of the contract with scripts.
inline constexpr int kDone = 0;
inline constexpr int kRunFailed = 1;      ///< input, output or a stage failed
inline constexpr int kUsageError = 2;     ///< command line or config; nothing was run
inline constexpr int kLossExceeded = 3;   ///< ran to the end, but more chunks were dropped than the loss budget allows
inline constexpr int kStalled = 4;        ///< the watchdog ended the run
inline constexpr int kInterrupted = 130;  ///< stopped by a signal, outputs kept as partial or removed

}  // namespace millrace::apps
