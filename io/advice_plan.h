#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "io/reader.h"

namespace millrace::io {

/// Which bytes prefetch advice asks for next: page-aligned steps through the extents that are to be read, at most a
/// window ahead of the reader. Pure arithmetic: it knows no file and no clock.
///
/// Extents come in the order in which they will be read. Those that touch each other share steps, so that many small
/// extents cost few calls; a page that two neighbours share is asked for once. What a reader begins to read before its
/// turn has come is left out: advice could not be early any more.
class AdvicePlan {
 public:
  /// `window_bytes` and `step_bytes` are rounded up to whole pages; a step is at most a window. None may be 0.
  AdvicePlan(std::uint64_t window_bytes, std::uint64_t step_bytes, std::uint64_t page_bytes);

  /// `extent` will be read after those announced before it.
  void announce(Extent extent);
  /// The transfer of `extent` begins: it, and what was announced before it, needs no advice any more. An extent that
  /// was not announced changes nothing.
  void begin(Extent extent);
  /// The reader has come to `extent`, which begins now if it has not yet: the window moves on behind it.
  void reach(Extent extent);

  /// The next step that is due, as whole pages; nothing when none is until the reader comes further. A last step
  /// shorter than others waits for what may follow it, but not longer than until half of the window is used up.
  std::optional<Extent> next();

  std::uint64_t step_bytes() const { return step_; }

 private:
  struct Announced {
    Extent extent;
    std::uint64_t end = 0;  ///< place in the stream of pages behind it
  };
  /// Pages not asked for yet.
  struct Run {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t length() const { return end - begin; }
  };

  std::uint64_t page_up(std::uint64_t bytes) const { return (bytes + page_ - 1) / page_ * page_; }
  void skip_to(std::uint64_t place);

  std::uint64_t page_;
  std::uint64_t window_;
  std::uint64_t step_;
  std::deque<Announced> extents_;
  std::deque<Run> runs_;
  Run last_{0, 0};  // of all announced so far, the run at the end
  // Places in the stream of pages in order of announcement.
  std::uint64_t announced_ = 0;
  std::uint64_t advised_ = 0;  // asked for, or left out
  std::uint64_t reached_ = 0;  // behind the extent that is read now
};

}  // namespace millrace::io
