#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "pipeline/core/buffer.h"
#include "pipeline/core/io_stats.h"

namespace millrace::io {

/// Puts bytes at places of one open file. One thread at a time. Failures throw Error with path and offset; after a
/// failed write or sync the file has failed for good, and every later call throws the same.
class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  virtual ~Writer() = default;

  /// Writes all of `bytes` at `offset` (bytes from the start of the file).
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;

  /// As write(), but may return before the bytes are written and then keeps a handle on them. What fails later is
  /// thrown by the next call. By default it writes at once.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): writers that finish later keep the handle
  virtual void submit(std::uint64_t offset, Buffer buffer) { write(offset, buffer.bytes()); }

  /// Everything written and submitted is in the file, which is exactly as long as its last byte demands.
  virtual void flush() {}

  /// As flush(), and data and size are on the device when it returns (fdatasync).
  virtual void sync() = 0;

  virtual const std::filesystem::path& path() const = 0;
  /// What this writer did so far.
  virtual IoStats stats() const = 0;
};

}  // namespace millrace::io
