#include "io/run_info.h"

#include <algorithm>

namespace millrace::io {
namespace {

void append_clean(std::string& text, std::string_view part) {
  for (const char c : part) text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
}

}  // namespace

std::string text_of(const RunInfo& info) {
  std::string text;
  for (const auto& [name, value] : info) {
    if (value.empty()) continue;
    append_clean(text, name);
    text += '\t';
    append_clean(text, value);
    text += '\n';
  }
  return text;
}

RunInfo parse_run_info(std::string_view text) {
  RunInfo info;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    info.insert_or_assign(std::string(line.substr(0, tab)), std::string(line.substr(tab + 1)));
  }
  return info;
}

}  // namespace millrace::io
