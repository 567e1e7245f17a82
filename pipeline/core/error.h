#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace millrace {

/// A place in a config file; lines and columns count from 1, 0 = unknown.
struct SourcePosition {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool known() const { return line != 0; }
  /// "file:line:column", or the file alone when the line is unknown.
  std::string text() const;
};

/// What kind of failure it was; the program maps it to its exit code.
enum class ErrorKind {
  config,  ///< the user's config, command line or type chain is wrong: nothing was run
  run,     ///< the run itself failed: input, output, a stage
};

/// Every failure of millrace. Built by the one who knows what went wrong, completed on its way up by those who know
/// where: the first value set for a field stays. One line, no trailing stop.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string message, ErrorKind kind = ErrorKind::run);

  Error& in_stage(std::string name);
  Error& at_chunk(std::uint64_t sequence);
  Error& at_path(std::filesystem::path path);
  Error& at_offset(std::uint64_t bytes);
  Error& at_position(SourcePosition position);
  Error& of_kind(ErrorKind kind);

  ErrorKind kind() const { return kind_; }
  /// The bare message without the fields.
  const std::string& message() const { return message_; }
  const std::string& stage() const { return stage_; }
  std::optional<std::uint64_t> chunk() const { return chunk_; }
  const std::filesystem::path& path() const { return path_; }
  std::optional<std::uint64_t> offset() const { return offset_; }
  const SourcePosition& position() const { return position_; }

  /// One line for people: "file:line:column: message" when the position is known, else
  /// "stage 'x', chunk 3, /path, offset 17: message" with the fields that are known. Same text as what().
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  std::string message_;
  std::string text_;
  ErrorKind kind_;
  std::string stage_;
  std::optional<std::uint64_t> chunk_;
  std::filesystem::path path_;
  std::optional<std::uint64_t> offset_;
  SourcePosition position_;
};

/// An Error of kind `config`.
Error config_error(std::string message, SourcePosition position = {});

/// An Error whose message ends in the text of `error_number` (an errno value), e.g. "cannot open: Permission denied".
Error system_error(const std::string& what_failed, int error_number);

}  // namespace millrace
