#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "io/file_descriptor.h"
#include "io/preallocation.h"
#include "io/reader.h"
#include "io/via.h"
#include "io/write_behind.h"
#include "io/writer.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// How calls that name a place in a file go: the transport's name for the report, and flags of preadv2(2), pwritev2(2).
struct PositionedAccess {
  const char* transport = "";
  int flags = 0;  ///< RWF_...
};

/// Whether `length` bytes at `offset` end at a place that off_t can name.
bool fits_a_file(std::uint64_t offset, std::uint64_t length);
/// Refuses an extent that no file of `size` bytes has, as one from a corrupt index: before memory for it is asked for.
/// Error "truncated" with `path`.
void require_within(Extent extent, std::uint64_t size, const std::filesystem::path& path);
/// "truncated": the file ends at `end` although it had `size` bytes when it was opened.
Error shrunk(std::uint64_t size, const std::filesystem::path& path, std::uint64_t end);

/// Reads through the page cache into loaned memory, one call a piece. Promises and errors of Reader.
class PositionedReader : public Reader {
 public:
  /// Error with the path as open_input(). `requested`: the transport that the config names, for the report.
  PositionedReader(std::filesystem::path path, std::string requested, PositionedAccess access);

  Buffer read(Extent extent) final;
  std::uint64_t size() const final { return size_; }
  const std::filesystem::path& path() const final { return path_; }
  int descriptor() const final { return file_.get(); }
  IoStats stats() const final { return stats_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t size_;
  int flags_;
  IoStats stats_;
};

/// Writes through the page cache, one call a piece; asks for room ahead and starts writeback behind as it is told.
/// Promises and errors of Writer.
class PositionedWriter : public Writer {
 public:
  /// `path`: for errors. Of `via`, the transport's name for the report and the room to ask for ahead.
  PositionedWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via, PositionedAccess access,
                   WriteBehind write_behind);

  void write(std::uint64_t offset, std::span<const std::byte> bytes) final;
  void flush() final;
  void sync() final;
  const std::filesystem::path& path() const final { return path_; }
  IoStats stats() const final;

 private:
  void cut_surplus();
  [[noreturn]] void fail(Error error);

  std::filesystem::path path_;
  FileDescriptor file_;
  int flags_;
  WriteBehind write_behind_;
  Preallocation room_;
  std::uint64_t end_ = 0;  // of the bytes written
  IoStats stats_;
  std::optional<Error> failure_;
};

}  // namespace millrace::io
