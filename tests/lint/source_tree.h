#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::lint {

/// One text file of the tree.
struct SourceFile {
  std::string path;  ///< from the repository root: "io/reader.h"
  std::vector<std::string> lines;

  /// The first directory of the path, "pipeline/core" for the core; empty for files in the root.
  std::string room() const;
  bool is_header() const { return path.ends_with(".h"); }
};

/// Everything under version control's directories (not build directories) whose name ends in one of `endings`, sorted.
std::vector<SourceFile> files_ending_in(const std::vector<std::string_view>& endings);

/// The C++ of the tree.
const std::vector<SourceFile>& cpp_files();

/// A line of C++ without its // comment, and with the contents of its string literals taken out.
std::string code_of(const std::string& line);

/// What is between the quotes or brackets of an #include line, with them: "\"io/reader.h\"", "<vector>". Empty when
/// the line is none.
std::string included_by(const std::string& line);

/// "path:line: text", for messages.
std::string place(const SourceFile& file, std::size_t index);

/// For each line of code in `files` that contains one of `words` as a whole word: its place.
std::vector<std::string> places_with(const std::vector<SourceFile>& files, const std::vector<std::string_view>& words);

}  // namespace millrace::lint
