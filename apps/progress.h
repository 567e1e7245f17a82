#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "pipeline/run.h"

namespace millrace::apps {

enum class ProgressMode {
  automatic,  ///< a rewritten line on a terminal, plain lines elsewhere
  plain,      ///< one line every few seconds
  off,
};

/// "1.20 GiB of 4.00 GiB (30 %)  512 MiB/s  5.6 s left  busiest: encode"; what is not known is left out.
/// `rate` is in bytes (chunks when the run counts no bytes) per second; 0 = not known.
std::string progress_text(const Progress& progress, double rate);

/// Shows how a run goes on, on standard error. Its functions may be called from any thread.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(ProgressMode mode);
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  /// Takes the rewritten line away.
  ~ProgressDisplay();

  void update(const Progress& progress);
  /// A message of its own line, whatever the mode.
  void notice(const std::string& message);

 private:
  struct Mark {
    std::int64_t at_ns = 0;
    std::uint64_t done = 0;
  };

  double recent_rate(const Progress& progress);

  std::mutex mutex_;
  const bool rewritten_;
  const bool shown_;
  bool line_open_ = false;
  std::deque<Mark> marks_;
  std::int64_t next_line_ns_ = 0;
};

}  // namespace millrace::apps
