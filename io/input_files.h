#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::io {

/// The files that a stage's `path` option names. Each entry is a file, a directory (its regular files whose names end
/// in `suffix` and do not start with a dot; not the files of its subdirectories), or a glob pattern (unless a file of
/// that very name exists). Directories and patterns give natural order (read_9 before read_10); entries keep theirs.
/// Never empty. Error with the path: nothing there, a pattern that matches nothing, a directory without such files.
std::vector<std::filesystem::path> find_input_files(const std::vector<std::filesystem::path>& entries,
                                                    std::string_view suffix = "");

/// The first of `files` that are indexed in one go, side by side: up to 64, and so few that what is known of their
/// reads fits well into memory; at least one. Files that cannot be looked at count as empty.
std::span<const std::filesystem::path> files_in_one_go(std::span<const std::filesystem::path> files);

/// Strict order of names in which runs of digits count as numbers; names that are equal so far compare as text.
bool natural_less(std::string_view left, std::string_view right);

}  // namespace millrace::io
