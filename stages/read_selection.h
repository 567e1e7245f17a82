#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/core/stage.h"

namespace millrace {

/// Which reads of its input files a reader gives, and what it does about files that are bad: the options `reads`,
/// `max_reads` and `on_bad_file`, which mean the same in every reader of reads. Used while files are indexed, one file
/// after the other; what was left out because it was bad is counted. One thread.
class ReadSelection {
 public:
  /// Reads the options; opens nothing.
  explicit ReadSelection(const Options& options);

  /// Reads the file of ids that `reads` names: one id per line, the first word of it; empty lines, lines that begin
  /// with '#' and a first line "read_id" are no ids. Error with the path: cannot be read, holds no id.
  void load();

  /// Whether ids decide. If not, wants() is true for every id and need not be asked.
  bool by_id() const { return !ids_file_.empty(); }
  bool wants(std::string_view id) const { return !by_id() || ids_.contains(id); }
  /// Counts one read that is given. False, and nothing counted: max_reads are given already.
  bool take(std::string_view id = {});
  /// Reads that may still be given.
  std::uint64_t room() const { return max_reads_ - given_; }

  /// True: bad input is left out and counted (`on_bad_file = "skip"`).
  bool skips() const { return skips_; }
  /// Leaves out a bad file of which `reads` reads are known (it counts as one chunk at least), or, where bad input is
  /// not to be left out, throws `error`.
  void skip_file(const Error& error, std::uint64_t reads = 0);
  /// Leaves out one read for a reason ("duplicate read id"), or throws `error`.
  void skip_read(const std::string& reason, const Error& error);

  /// For Stage::findings of the instance that made the index, and for no other: it would count twice.
  Findings findings() const;
  /// For Stage::plan_notes: what was left out, and ids that no file has.
  std::vector<std::string> plan_notes() const;
  /// Memory of the ids.
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  std::filesystem::path ids_file_;
  std::set<std::string, std::less<>> ids_;
  std::set<std::string, std::less<>> missing_;  // ids that were not given so far
  std::uint64_t max_reads_ = std::numeric_limits<std::uint64_t>::max();
  bool skips_ = false;
  std::uint64_t given_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::map<std::string, std::uint64_t> refused_;  // chunks by reason
  std::vector<std::string> first_skips_;
  std::uint64_t skips_count_ = 0;
};

}  // namespace millrace
