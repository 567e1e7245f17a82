#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/interruption.h"
#include "io/file_descriptor.h"
#include "pipeline/report.h"

namespace millrace::apps {

/// A directory of its own for files that nobody needs after this process; removed with them at the end.
class ScratchDirectory {
 public:
  /// In the system's directory for temporary files. Error with its path.
  ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ChildRunArguments {
  std::filesystem::path config;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugins;
  bool evict = false;  ///< as `run --evict`
};

/// How it ended.
struct ChildRunResult {
  bool interrupted = false;         ///< it was stopped because this process got a signal; the rest means nothing then
  int exit_code = -1;               ///< -1 when a signal ended it
  std::string error;                ///< one line: its last error, or how it ended; empty after exit code 0
  std::optional<RunReport> report;  ///< its report, when it could still write one
};

/// One run of this program in a process of its own, so that it inherits no memory, page tables or threads, and a crash
/// takes nothing else with it. It gets no signals of the terminal, and is killed when this process dies. Its standard
/// output is thrown away.
class ChildRun {
 public:
  /// Starts it. `scratch` gets its report. Error when no process can be made.
  ChildRun(const ChildRunArguments& arguments, const std::filesystem::path& scratch);
  ChildRun(const ChildRun&) = delete;
  ChildRun& operator=(const ChildRun&) = delete;
  /// Kills and collects it when nobody waited for its end.
  ~ChildRun();

  /// Until it ends; once. When a signal is asked for meanwhile it is told to stop at once, and killed when it does not
  /// within a few seconds.
  ChildRunResult wait(Interruption& interruption);

 private:
  void start(const std::vector<std::string>& arguments);
  void stop();
  void kill_and_collect() noexcept;
  void read_errors();
  ChildRunResult collect();

  std::filesystem::path report_;
  pid_t process_ = -1;
  io::FileDescriptor ended_;   // readable when the process has ended
  io::FileDescriptor errors_;  // its standard error
  std::string error_text_;
};

/// The last line of `text` that begins with "millrace: error: ", without that; the last line of all when there is none.
std::string last_error_in(const std::string& text);

}  // namespace millrace::apps
