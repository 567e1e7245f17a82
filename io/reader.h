#pragma once

#include <cstdint>
#include <filesystem>

#include "pipeline/core/buffer.h"
#include "pipeline/core/io_stats.h"

namespace millrace::io {

/// A contiguous piece of a file; both in bytes.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// How far beyond the extent that is being read announcements make sense.
struct Lookahead {
  std::uint32_t reads = 0;  ///< transfers that can be in flight beside the one that is waited for
  std::uint64_t bytes = 0;  ///< reach of prefetch advice; holds no buffer
};

/// Random access to the bytes of one open file. One thread at a time. Failures throw Error with path and offset.
/// Backends know no clock: time is measured, and slowness or faults are added, by decorators with this interface.
class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  /// Exactly the bytes of `extent`, in memory of the reader's choice: a loan from the output link of the stage that
  /// runs on this thread (millrace::loan), or memory that the file is mapped to. Error "truncated" when the file ends
  /// before the extent does. An empty extent gives an empty buffer.
  virtual Buffer read(Extent extent) = 0;

  /// How far ahead of read() this reader wants to hear what comes. Never changes.
  virtual Lookahead lookahead() const { return {}; }
  /// Says that read(extent) is coming, after those announced before it: the transfer may begin at once, into a buffer
  /// that is loaned now. What fails is thrown by that read(). read() of an extent that was not announced is fine at any
  /// time; extents announced before one that is read are given up. Does nothing by default.
  virtual void announce(Extent /*extent*/) {}

  /// Bytes in the file when it was opened.
  virtual std::uint64_t size() const = 0;
  virtual const std::filesystem::path& path() const = 0;
  /// The open file, for advice and for questions to the page cache; negative when there is none.
  virtual int descriptor() const { return -1; }
  /// What this reader did so far.
  virtual IoStats stats() const = 0;
};

}  // namespace millrace::io
