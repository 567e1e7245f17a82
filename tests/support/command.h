#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/places.h"

namespace millrace::test {

/// How a child process ended.
struct CommandResult {
  int exit_code = -1;      ///< -1 when a signal ended it
  int signal = 0;          ///< the signal that ended it, else 0
  bool timed_out = false;  ///< it was killed because it did not end in time
  std::string out;
  std::string err;

  /// The lines of `err`.
  std::vector<std::string> err_lines() const;
};

/// A child process whose output is collected. Started by the constructor; killed and waited for by the destructor when
/// nobody did. The program of this build when `arguments` are given alone.
class Command {
 public:
  struct Settings {
    std::filesystem::path program = test::program();
    std::filesystem::path directory;                               ///< to run in; empty = the caller's
    std::vector<std::pair<std::string, std::string>> environment;  ///< added
    /// What standard output is instead of a pipe: a path; "closed"; or "broken", a pipe that nobody reads.
    std::string output;
    bool unprivileged = false;  ///< run as nobody when the caller is root
    std::chrono::seconds limit{60};
  };

  explicit Command(const std::vector<std::string>& arguments) : Command(arguments, Settings{}) {}
  Command(const std::vector<std::string>& arguments, Settings settings);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  void send(int signal) const;
  /// Reads what it prints until it ends. Once.
  CommandResult wait();
  /// Reads standard error until `text` was seen in it; false when the process ended or the limit passed before.
  bool wait_for_error_text(const std::string& text);

 private:
  bool read_some(std::chrono::steady_clock::time_point deadline);
  std::chrono::steady_clock::time_point deadline() const;

  Settings settings_;
  std::chrono::steady_clock::time_point started_;
  int process_ = -1;
  int out_ = -1;
  int err_ = -1;
  CommandResult result_;
};

/// Runs the program of this build to its end.
inline CommandResult run_millrace(const std::vector<std::string>& arguments, Command::Settings settings = {}) {
  return Command(arguments, std::move(settings)).wait();
}

/// Tells when files appear in a directory, without asking again and again.
class DirectoryWatch {
 public:
  explicit DirectoryWatch(const std::filesystem::path& directory);
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  ~DirectoryWatch();

  /// Waits for a file to be written to after it was made since the watch began; false when `limit` passed before.
  bool wait_for_write(std::chrono::seconds limit = std::chrono::seconds(60)) const;

 private:
  int descriptor_;
};

}  // namespace millrace::test
