#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/input_files.h"
#include "stages/read_index.h"
#include "stages/read_selection.h"

namespace millrace {

/// Fills an index with the reads of files that are wanted, in order; files that are bad are left out, or end it all, as
/// the selection has it.
class IndexFiller {
 public:
  IndexFiller(ReadSelection& selection, ReadIndex& index) : selection_(selection), index_(index) {}

  /// `index_of(files)` gives one answer per file, with its `reads`, or an `error` and how many reads were `seen`;
  /// `give(file, take)` calls take(read) for each read of one file; `entry_of(read)` makes an entry without its run.
  /// Returns the files that were used.
  template <typename IndexOf, typename Give, typename EntryOf>
  std::vector<std::filesystem::path> fill(std::span<const std::filesystem::path> files, IndexOf&& index_of, Give&& give,
                                          EntryOf&& entry_of) {
    std::vector<std::filesystem::path> used;
    while (!files.empty() && selection_.room() != 0) {
      const auto together = io::files_in_one_go(files);
      files = files.subspan(together.size());
      // A large file, read by read; not where it might have to be taken out again.
      if (together.size() == 1 && !selection_.skips()) {
        used.push_back(together.front());
        index_.begin_file(together.front());
        give(together.front(), [&](auto read) { add(std::move(read), entry_of); });
        continue;
      }
      auto answers = index_of(together);
      for (std::size_t i = 0; i < together.size() && selection_.room() != 0; ++i) {
        if (answers[i].error) {
          selection_.skip_file(*answers[i].error, answers[i].seen);
          continue;
        }
        used.push_back(together[i]);
        index_.begin_file(together[i]);
        for (auto& read : answers[i].reads) add(std::move(read), entry_of);
        answers[i] = {};
      }
    }
    index_.complete();
    return used;
  }

 private:
  template <typename Read, typename EntryOf>
  void add(Read read, EntryOf& entry_of) {
    const std::string id(*read.attributes.text("read_id"));
    if (!selection_.wants(id) || !selection_.take(id)) return;
    const auto run = read.run;
    ReadIndex::Entry entry = entry_of(std::move(read));
    if (run) entry.run = index_.run(run->id, run->info);
    index_.add(std::move(entry));
  }

  ReadSelection& selection_;
  ReadIndex& index_;
};

}  // namespace millrace
