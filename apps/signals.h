#pragma once

#include "pipeline/run.h"

namespace millrace::apps {

/// Routes SIGINT and SIGTERM to a RunControl while it lives: the first drains, the second stops at once, the third
/// removes temporary files and ends the process on the spot. Both signals count together. One object at a time.
class SignalsToRun {
 public:
  explicit SignalsToRun(RunControl& control);
  SignalsToRun(const SignalsToRun&) = delete;
  SignalsToRun& operator=(const SignalsToRun&) = delete;
  ~SignalsToRun();
};

}  // namespace millrace::apps
