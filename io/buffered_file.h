#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "io/positioned_file.h"

namespace millrace::io {

/// pread(2) through the page cache into loaned memory. Promises and errors of Reader.
class BufferedReader final : public PositionedReader {
 public:
  /// Error with the path as open_input(). `requested`: the transport that the config names, for the report.
  explicit BufferedReader(std::filesystem::path path, std::string requested = "buffered")
      : PositionedReader(std::move(path), std::move(requested), {"buffered"}) {}
};

/// pwrite(2) through the page cache, with writeback behind the stream (io/write_behind.h). Promises and errors of
/// Writer.
class BufferedWriter final : public PositionedWriter {
 public:
  /// `path`: for errors.
  BufferedWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via = {})
      : PositionedWriter(std::move(file), std::move(path), via, {"buffered"},
                         WriteBehind(via.write_behind_bytes, via.drop_behind)) {}
};

}  // namespace millrace::io
