#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "io/file_descriptor.h"
#include "io/line_relay.h"
#include "pipeline/core/units.h"

namespace millrace::io {

/// What to run, and how.
struct ChildCommand {
  std::filesystem::path program;         ///< as find_program() gives it
  std::vector<std::string> words;        ///< the first one is the program as the user wrote it
  std::filesystem::path directory;       ///< to run in; empty = this process's
  std::vector<std::string> environment;  ///< NAME=value, beside and before what this process has
};

/// The file to execute for `name`: in PATH, or, with a slash in it, seen from `directory`. Error that says whether
/// there is none or it may not be executed.
std::filesystem::path find_program(const std::string& name, const std::filesystem::path& directory);

/// How a process ended.
struct ChildEnd {
  int exit_code = -1;  ///< -1 when a signal ended it
  int signal = 0;
  std::int64_t cpu_ns = 0;  ///< of the process and of all its children that it waited for

  /// "ended with exit code 3", "was ended by signal 11 (Segmentation fault)"
  std::string text() const;
};

/// Another program, with pipes to its standard input, output and error. Pipes to and fro are served at once, so that
/// neither side can block the other for ever by writing before it reads. The program leads a process group of its own:
/// signals of the terminal do not reach it, and what it starts ends with it. The kernel kills it when the thread that
/// started it ends, so that thread must live as long as it is needed; so also when this process is killed, and its own
/// children then see the ends of their pipes. All descriptors close on exec.
///
/// Started without fork(): a copy of the page tables would be slow in a large process, and memory that a direct
/// transfer is on its way to must not become copy-on-write.
///
/// Threads: one at a time.
class ChildProcess {
 public:
  /// Starts it. What it says on standard error goes to `errors`, which outlives it. Error when it cannot be started.
  ChildProcess(const ChildCommand& command, LineRelay& errors);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills and collects it when it was not collected yet.
  ~ChildProcess();

  /// Bytes for its standard input, behind those queued before. They are not copied: they stay where they are until
  /// all_sent().
  void queue(std::span<const std::byte> bytes);
  bool all_sent() const { return queued_.empty(); }

  enum class Event {
    moved,    ///< bytes went one way or the other
    ended,    ///< nothing more will come: it closed its standard output, or it ended
    closed,   ///< it has closed its standard input, and neither ended nor wrote anything for a second after
    silent,   ///< nothing moved for as long as was allowed
    stopped,  ///< a stop was requested
  };
  struct Exchange {
    Event event = Event::moved;
    std::size_t read = 0;  ///< bytes put into `room`
  };
  /// Waits until some bytes can be moved: what is queued, or what it writes into `room`. `timeout` 0 = no limit.
  Exchange exchange(std::span<std::byte> room, Duration timeout, const std::stop_token& stop);

  void close_input() { input_.close(); }
  /// Waits for its end, reads on what it says on standard error meanwhile, and collects it. Nothing after `timeout` (0
  /// = no limit) or when a stop was requested. What is left of its process group is killed.
  std::optional<ChildEnd> wait(Duration timeout, const std::stop_token& stop);
  /// Kills the process group and collects it, unless it has ended already.
  ChildEnd kill() noexcept;

  /// CPU time so far, as in ChildEnd; exact to the kernel's clock tick while it lives.
  std::int64_t cpu_ns() const;

 private:
  enum class Ready { something, silent, stopped };

  void start(const ChildCommand& command, int input, int output, int errors);
  bool send();
  std::optional<std::size_t> receive(std::span<std::byte> room);
  void read_errors();
  Ready wait_for_events(bool for_input, bool for_output, Duration timeout, const std::stop_token& stop);
  ChildEnd collect() noexcept;

  LineRelay& relay_;
  pid_t process_ = -1;
  FileDescriptor input_;    // its standard input, to write to
  FileDescriptor output_;   // its standard output, to read from
  FileDescriptor errors_;   // its standard error
  FileDescriptor ended_;    // readable when the process has ended
  FileDescriptor stopped_;  // readable when a stop was requested
  std::deque<std::span<const std::byte>> queued_;
  bool input_refused_ = false;
  bool has_ended_ = false;
  ChildEnd end_;
};

}  // namespace millrace::io
