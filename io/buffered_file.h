#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "io/file_descriptor.h"
#include "io/reader.h"
#include "io/writer.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// pread(2) through the page cache into loaned memory. Promises and errors of Reader.
class BufferedReader final : public Reader {
 public:
  /// Error with the path as open_input(). `requested`: the transport that the config names, for the report.
  explicit BufferedReader(std::filesystem::path path, std::string requested = "buffered");

  Buffer read(Extent extent) override;
  std::uint64_t size() const override { return size_; }
  const std::filesystem::path& path() const override { return path_; }
  int descriptor() const override { return file_.get(); }
  IoStats stats() const override { return stats_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t size_;
  IoStats stats_;
};

/// pwrite(2) through the page cache. Promises and errors of Writer.
class BufferedWriter final : public Writer {
 public:
  /// `path`: for errors.
  BufferedWriter(FileDescriptor file, std::filesystem::path path, std::string requested = "buffered");

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void sync() override;
  const std::filesystem::path& path() const override { return path_; }
  IoStats stats() const override { return stats_; }

 private:
  [[noreturn]] void fail(Error error);

  std::filesystem::path path_;
  FileDescriptor file_;
  IoStats stats_;
  std::optional<Error> failure_;
};

}  // namespace millrace::io
