#include "tests/lint/source_tree.h"
#include "tests/support/places.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

namespace millrace::lint {
namespace {

const std::filesystem::path kRoot = test::source_dir();
constexpr std::array kRooms{"apps", "cmake", "configs", "include", "io", "pipeline", "stages", "tests", ".ci"};

SourceFile read(const std::filesystem::path& file) {
  SourceFile result{file.lexically_relative(kRoot).generic_string(), {}};
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) result.lines.push_back(line);
  return result;
}

bool ends_in_one_of(const std::filesystem::path& file, const std::vector<std::string_view>& endings) {
  const std::string name = file.filename().string();
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_word(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_'; }

bool contains_word(const std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || !is_word(text[at - 1]) || !is_word(word.front());
    const bool ends = end == text.size() || !is_word(text[end]) || !is_word(word.back());
    if (starts && ends) return true;
  }
  return false;
}

}  // namespace

std::string SourceFile::room() const {
  for (const char* const inner : {"pipeline/core", "pipeline/experiment", "pipeline/replay"}) {
    if (path.starts_with(std::string(inner) + "/")) return inner;
  }
  const auto slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<SourceFile> files_ending_in(const std::vector<std::string_view>& endings) {
  std::vector<SourceFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot)) {
    if (entry.is_regular_file() && ends_in_one_of(entry.path(), endings)) files.push_back(read(entry.path()));
  }
  for (const auto* const room : kRooms) {
    if (!std::filesystem::exists(kRoot / room)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / room)) {
      if (entry.is_regular_file() && ends_in_one_of(entry.path(), endings)) files.push_back(read(entry.path()));
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

const std::vector<SourceFile>& cpp_files() {
  static const auto kFiles = files_ending_in({".h", ".cpp"});
  return kFiles;
}

std::string code_of(const std::string& line) {
  std::string code;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"' && (i == 0 || line[i - 1] != '\'')) {
      quoted = !quoted;
      code += '"';
    } else if (!quoted && line.compare(i, 2, "//") == 0) {
      break;
    } else if (!quoted) {
      code += line[i];
    }
  }
  return code;
}

std::string included_by(const std::string& line) {
  constexpr std::string_view kDirective = "#include ";
  if (!line.starts_with(kDirective)) return "";
  const auto end = line.find_first_of("\">", kDirective.size() + 1);
  return end == std::string::npos ? "" : line.substr(kDirective.size(), end + 1 - kDirective.size());
}

std::string place(const SourceFile& file, std::size_t index) {
  return file.path + ":" + std::to_string(index + 1) + ": " + file.lines[index];
}

std::vector<std::string> places_with(const std::vector<SourceFile>& files, const std::vector<std::string_view>& words) {
  std::vector<std::string> places;
  for (const auto& file : files) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string code = code_of(file.lines[i]);
      const bool found = std::any_of(words.begin(), words.end(), [&](auto word) { return contains_word(code, word); });
      if (found) places.push_back(place(file, i));
    }
  }
  return places;
}

}  // namespace millrace::lint
