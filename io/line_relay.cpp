#include "io/line_relay.h"

#include <algorithm>
#include <utility>

namespace millrace::io {
namespace {

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return (code < 0x20 && character != '\t') || code == 0x7f;
}

}  // namespace

std::string LineRelay::take(std::string_view bytes, std::int64_t now_ns) {
  if (begun_)
    budget_ns_ = std::min(budget_ns_ + std::max<std::int64_t>(now_ns - latest_ns_, 0), kLinesAtOnce * kLineEveryNs);
  begun_ = true;
  latest_ns_ = now_ns;
  std::string shown;
  for (const char character : bytes) {
    if (character == '\n' || character == '\r') {
      end_line(shown);
    } else if (line_.size() < kLineBytes) {
      line_ += is_control(character) ? '?' : character;
    } else {
      cut_ = true;
    }
  }
  return shown;
}

std::string LineRelay::finish() {
  std::string shown;
  end_line(shown);
  return shown + hidden_note();
}

void LineRelay::end_line(std::string& shown) {
  if (line_.empty()) return;
  if (std::exchange(cut_, false)) line_ += "...";
  ++lines_;
  if (budget_ns_ >= kLineEveryNs) {
    budget_ns_ -= kLineEveryNs;
    shown += hidden_note() + prefix_ + ": " + line_ + "\n";
  } else {
    ++hidden_;
    ++hidden_since_;
  }
  if (last_.size() == kLinesKept) last_.pop_front();
  last_.push_back(std::exchange(line_, {}));
}

std::string LineRelay::hidden_note() {
  if (hidden_since_ == 0) return {};
  const std::uint64_t lines = std::exchange(hidden_since_, 0);
  return prefix_ + ": (" + std::to_string(lines) + (lines == 1 ? " line" : " lines") + " not shown)\n";
}

std::string LineRelay::last_lines() const {
  std::string text;
  for (const std::string& line : last_) text += (text.empty() ? "" : " | ") + line;
  return text;
}

}  // namespace millrace::io
