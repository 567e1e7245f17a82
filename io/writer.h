#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

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

  /// Data and size are on the device when it returns (fdatasync).
  virtual void sync() = 0;

  virtual const std::filesystem::path& path() const = 0;
  /// What this writer did so far.
  virtual IoStats stats() const = 0;
};

}  // namespace millrace::io
