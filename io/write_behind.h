#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/core/io_stats.h"

namespace millrace::io {

/// Starts writeback while a file is still being written, so that a sync at the end finds little to do, and lets the
/// page cache forget what is on the device. For writers that go through the page cache; one thread at a time.
/// Measured at the end of a copy of 2 GiB: the sync takes 0.01 s instead of 0.6 s; the copy as a whole was faster on a
/// calm machine, and on a busy one there was nothing to be seen.
class WriteBehind {
 public:
  /// Writeback is started after every `window_bytes` (0 = never). `drop_behind`: the window before is then waited for
  /// and dropped from the page cache, in whole steps of 2 MiB: the kernel drops no part of a large folio.
  WriteBehind(std::uint64_t window_bytes, bool drop_behind) : window_bytes_(window_bytes), drop_behind_(drop_behind) {}

  /// Bytes that were lost on their way to the device. The kernel reports it once: the file has failed for good.
  struct Failure {
    int error_number;
    std::uint64_t offset;  ///< begin of the window that they lie in
  };
  /// The file was written up to `end`, in pieces that need not follow each other. Counts what is dropped in `stats`.
  std::optional<Failure> wrote(int file, std::uint64_t end, IoStats& stats);
  /// All of the file, which ends at `end`, is on the device: the rest of it can be dropped.
  void synced(int file, std::uint64_t end, IoStats& stats);

  /// Why no writeback is started although it was wanted, for the report; else empty.
  const std::string& refusal() const { return refusal_; }

 private:
  std::optional<Failure> start(int file, std::uint64_t begin, std::uint64_t end, unsigned flags);
  void drop(int file, std::uint64_t end, IoStats& stats);

  std::uint64_t window_bytes_;
  bool drop_behind_;
  std::uint64_t started_ = 0;  // writeback was started below this
  std::uint64_t waited_ = 0;   // and has ended below this
  std::uint64_t dropped_ = 0;  // whole folios that were dropped
  std::uint64_t counted_ = 0;  // bytes that were counted as dropped
  std::string refusal_;
};

}  // namespace millrace::io
