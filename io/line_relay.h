#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace millrace::io {

/// What another program says on its standard error, on its way to people: line by line, each with a prefix, not more of
/// them than can be read, and with what a terminal would obey taken out. Keeps the last lines, because they tell why a
/// program ended. Knows no clock and no descriptor.
class LineRelay {
 public:
  /// So many lines may be shown at once, then one every so often.
  static constexpr int kLinesAtOnce = 20;
  static constexpr std::int64_t kLineEveryNs = 200'000'000;
  /// Bytes of a line; what is longer is cut, and the cut marked.
  static constexpr std::size_t kLineBytes = 500;
  static constexpr std::size_t kLinesKept = 5;

  /// `prefix`: as in "prefix: line".
  explicit LineRelay(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Takes what was said until `now_ns` (of a clock that only goes forward); gives whole lines that are to be shown
  /// now, perhaps none. A carriage return ends a line like a line feed.
  std::string take(std::string_view bytes, std::int64_t now_ns);
  /// The end of what is said: a line without an end, and how many lines were not shown since the last that was.
  std::string finish();

  /// The last lines that were not empty, "first | second".
  std::string last_lines() const;
  std::uint64_t lines() const { return lines_; }
  std::uint64_t hidden() const { return hidden_; }
  /// Bytes that it holds at most.
  static constexpr std::size_t kStateBytes = (kLinesKept + 1) * kLineBytes;

 private:
  void end_line(std::string& shown);
  std::string hidden_note();

  std::string prefix_;
  std::string line_;
  bool cut_ = false;
  std::deque<std::string> last_;
  std::uint64_t lines_ = 0;
  std::uint64_t hidden_ = 0;
  std::uint64_t hidden_since_ = 0;  // since the last line that was shown
  std::int64_t budget_ns_ = kLinesAtOnce * kLineEveryNs;
  std::int64_t latest_ns_ = 0;
  bool begun_ = false;
};

}  // namespace millrace::io
