#include "pipeline/core/error.h"

#include <system_error>
#include <utility>

namespace millrace {

std::string SourcePosition::text() const {
  if (!known()) return file;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Error::Error(std::string message, ErrorKind kind)
    : std::runtime_error(message), message_(std::move(message)), kind_(kind) {
  compose();
}

Error& Error::in_stage(std::string name) {
  if (stage_.empty()) stage_ = std::move(name);
  compose();
  return *this;
}

Error& Error::at_chunk(std::uint64_t sequence) {
  if (!chunk_) chunk_ = sequence;
  compose();
  return *this;
}

Error& Error::at_path(std::filesystem::path path) {
  if (path_.empty()) path_ = std::move(path);
  compose();
  return *this;
}

Error& Error::at_offset(std::uint64_t bytes) {
  if (!offset_) offset_ = bytes;
  compose();
  return *this;
}

Error& Error::at_position(SourcePosition position) {
  if (!position_.known()) position_ = std::move(position);
  compose();
  return *this;
}

Error& Error::of_kind(ErrorKind kind) {
  kind_ = kind;
  return *this;
}

void Error::compose() {
  std::string where;
  const auto add = [&where](const std::string& part) { where += (where.empty() ? "" : ", ") + part; };
  text_ = position_.text();
  if (!text_.empty()) text_ += ": ";
  if (!stage_.empty()) add("stage '" + stage_ + "'");
  if (chunk_) add("chunk " + std::to_string(*chunk_));
  if (!path_.empty()) add(path_.string());
  if (offset_) add("offset " + std::to_string(*offset_));
  text_ += where.empty() ? message_ : where + ": " + message_;
  // One line is a promise: a library's message may carry line ends.
  for (auto& character : text_) {
    if (character == '\n' || character == '\r') character = ' ';
  }
}

Error config_error(std::string message, SourcePosition position) {
  Error error(std::move(message), ErrorKind::config);
  error.at_position(std::move(position));
  return error;
}

Error system_error(const std::string& what_failed, int error_number) {
  return Error(what_failed + ": " + std::generic_category().message(error_number));
}

}  // namespace millrace
