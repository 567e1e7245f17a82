#include "io/input_files.h"

#include <glob.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostInOneGo = 64;
constexpr std::uintmax_t kBytesInOneGo = 256 << 20;

bool natural_less_paths(const fs::path& left, const fs::path& right) {
  return natural_less(left.native(), right.native());
}

std::vector<fs::path> files_in(const fs::path& directory, std::string_view suffix) {
  std::vector<fs::path> files;
  std::error_code failure;
  std::error_code ignored;  // a dangling link is no file
  fs::directory_iterator entries(directory, failure);
  for (; !failure && entries != fs::directory_iterator(); entries.increment(failure)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with('.') && name.ends_with(suffix) && fs::is_regular_file(fs::status(entries->path(), ignored))) {
      files.push_back(entries->path());
    }
  }
  if (failure) throw system_error("cannot list the directory", failure.value()).at_path(directory);
  if (files.empty()) {
    const std::string wanted = suffix.empty() ? "no files" : "no files that end in '" + std::string(suffix) + "'";
    throw Error("the directory has " + wanted).at_path(directory);
  }
  std::sort(files.begin(), files.end(), natural_less_paths);
  return files;
}

bool is_pattern(const fs::path& path) { return path.native().find_first_of("*?[") != std::string::npos; }

std::vector<fs::path> files_matching(const fs::path& pattern) {
  struct Matches {
    Matches() = default;
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    ~Matches() { ::globfree(&list); }
    glob_t list{};
  } matches;
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches.list);
  if (result == GLOB_NOMATCH) throw Error("no file matches the pattern").at_path(pattern);
  if (result != 0) throw Error("cannot search for the pattern").at_path(pattern);
  std::vector<fs::path> files(matches.list.gl_pathv, matches.list.gl_pathv + matches.list.gl_pathc);
  std::sort(files.begin(), files.end(), natural_less_paths);
  return files;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The run of digits that `text` starts with, without leading zeros; removes the run from `text`.
std::string_view take_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  std::string_view number = text.substr(0, length);
  text.remove_prefix(length);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

}  // namespace

std::vector<fs::path> find_input_files(const std::vector<fs::path>& entries, std::string_view suffix) {
  if (entries.empty()) throw config_error("'path' names no file");
  std::vector<fs::path> files;
  const auto add = [&files](const std::vector<fs::path>& more) { files.insert(files.end(), more.begin(), more.end()); };
  for (const auto& entry : entries) {
    std::error_code failure;
    const fs::file_status status = fs::status(entry, failure);
    if (fs::is_directory(status)) {
      add(files_in(entry, suffix));
    } else if (fs::exists(status)) {
      files.push_back(entry);
    } else if (is_pattern(entry)) {
      add(files_matching(entry));
    } else if (status.type() == fs::file_type::not_found) {
      throw Error("there is no such file").at_path(entry);
    } else {
      throw system_error("cannot be looked at", failure.value()).at_path(entry);
    }
  }
  return files;
}

std::span<const fs::path> files_in_one_go(std::span<const fs::path> files) {
  std::uintmax_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(files.size(), kMostInOneGo) && (count == 0 || bytes < kBytesInOneGo)) {
    std::error_code unknown;
    const std::uintmax_t size = fs::file_size(files[count++], unknown);
    if (!unknown) bytes += size;
  }
  return files.first(count);
}

bool natural_less(std::string_view left, std::string_view right) {
  const std::string_view whole_left = left;
  const std::string_view whole_right = right;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const std::string_view a = take_number(left);
      const std::string_view b = take_number(right);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
    } else {
      if (left.front() != right.front()) return left.substr(0, 1) < right.substr(0, 1);  // as unsigned, like text
      left.remove_prefix(1);
      right.remove_prefix(1);
    }
  }
  if (left.empty() != right.empty()) return left.empty();
  return whole_left < whole_right;
}

}  // namespace millrace::io
