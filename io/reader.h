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

  /// Bytes in the file when it was opened.
  virtual std::uint64_t size() const = 0;
  virtual const std::filesystem::path& path() const = 0;
  /// What this reader did so far.
  virtual IoStats stats() const = 0;
};

}  // namespace millrace::io
