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

/// Fills `index` with the reads of `files` that are wanted, in order; files that are bad are left out, or end it all,
/// as `selection` has it. Returns the files that were used. `index_of(files)` gives one answer per file, with its
/// `reads`, or an `error` and how many reads were `seen`; `entry_of(read)` makes an entry without its run.
template <typename IndexOf, typename EntryOf>
std::vector<std::filesystem::path> index_files(std::span<const std::filesystem::path> files, ReadSelection& selection,
                                               ReadIndex& index, IndexOf&& index_of, EntryOf&& entry_of) {
  std::vector<std::filesystem::path> used;
  while (!files.empty() && selection.room() != 0) {
    const auto together = io::files_in_one_go(files);
    files = files.subspan(together.size());
    auto answers = index_of(together);
    for (std::size_t i = 0; i < together.size() && selection.room() != 0; ++i) {
      if (answers[i].error) {
        selection.skip_file(*answers[i].error, answers[i].seen);
        continue;
      }
      used.push_back(together[i]);
      index.begin_file(together[i]);
      for (auto& read : answers[i].reads) {
        const std::string id(*read.attributes.text("read_id"));
        if (!selection.wants(id)) continue;
        if (!selection.take(id)) break;
        const auto run = read.run;
        ReadIndex::Entry entry = entry_of(std::move(read));
        if (run) entry.run = index.run(run->id, run->info);
        index.add(std::move(entry));
      }
      answers[i] = {};
    }
  }
  index.complete();
  return used;
}

}  // namespace millrace
