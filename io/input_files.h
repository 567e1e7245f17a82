#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace millrace::io {

/// The files that a stage's `path` option names. Each entry is a file, a directory (its regular files whose names end
/// in `suffix` and do not start with a dot; not the files of its subdirectories), or a glob pattern (unless a file of
/// that very name exists). Directories and patterns give natural order (read_9 before read_10); entries keep theirs.
/// Never empty. Error with the path: nothing there, a pattern that matches nothing, a directory without such files.
std::vector<std::filesystem::path> find_input_files(const std::vector<std::filesystem::path>& entries,
                                                    std::string_view suffix = "");

/// Strict order of names in which runs of digits count as numbers; names that are equal so far compare as text.
bool natural_less(std::string_view left, std::string_view right);

}  // namespace millrace::io
