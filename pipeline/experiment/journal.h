#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/experiment/comparison_report.h"

namespace millrace {

/// What makes an experiment the same: names and values in words, in an order of their own. Two experiments are the same
/// when all of them are.
using ExperimentIdentity = std::vector<std::pair<std::string, std::string>>;

/// The first fact in which two experiments differ, in words: "seed was 7 and is 1"; empty when they are the same.
std::string difference_of(const ExperimentIdentity& stored, const ExperimentIdentity& now);

/// A run that was kept.
struct JournalEntry {
  std::size_t arm = 0;
  ComparisonRun run;
};

/// The memory of an experiment that may be killed at any moment: JSON lines, the identity first, then a line for each
/// run, each forced to the device before add() returns. One process at a time has it; one thread.
class Journal {
 public:
  /// Opens the journal or begins it. What an earlier process kept is in kept(); a last line that was torn off is cut
  /// away. Error (kind config, with the path) for the journal of another experiment, with the fact in which it differs;
  /// for a file that is no journal; and when another process has it.
  Journal(std::filesystem::path path, const ExperimentIdentity& identity);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  const std::vector<JournalEntry>& kept() const { return kept_; }
  const std::filesystem::path& path() const { return path_; }

  /// Error with the path when it cannot be written.
  void add(std::size_t arm, const ComparisonRun& run);
  /// The experiment is over, and its report written.
  void remove();

 private:
  void read(const ExperimentIdentity& identity);
  void begin(const ExperimentIdentity& identity);
  void append(const std::string& line);
  std::string contents() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::vector<JournalEntry> kept_;
};

}  // namespace millrace
