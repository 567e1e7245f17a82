#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "io/aligned_writer.h"
#include "io/alignment.h"
#include "io/file_descriptor.h"
#include "io/reader.h"
#include "io/transports.h"
#include "io/via.h"

namespace millrace::io {

/// pread(2) with O_DIRECT: past the page cache, whole blocks around the extent, of which the buffer shows the extent.
/// Promises and errors of Reader.
class DirectReader final : public Reader {
 public:
  /// Error with the path as open_input(), and when the file system has no direct I/O. `requested`: the transport that
  /// the config names, for the report.
  explicit DirectReader(std::filesystem::path path, std::string requested = "direct");

  Buffer read(Extent extent) override;
  std::uint64_t size() const override { return size_; }
  const std::filesystem::path& path() const override { return path_; }
  int descriptor() const override { return file_.get(); }
  IoStats stats() const override { return stats_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t size_;
  Alignment alignment_;
  IoStats stats_;
};

/// pwrite(2) with O_DIRECT, one block of memory at a time. Promises and errors of Writer.
class DirectWriter final : public AlignedWriter {
 public:
  DirectWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via);

 private:
  void put(std::uint64_t offset, Buffer blocks) override { put_now(offset, blocks.bytes()); }
  void put_now(std::uint64_t offset, std::span<const std::byte> blocks) override;
  void drain() override {}
  std::string detail() const override { return {}; }
};

/// Opens `file` for direct reading and reads its first block.
Probe probe_direct_read(const std::filesystem::path& file);
/// Writes a block to a file without a name in `directory`, and reads it again.
Probe probe_direct_write(const std::filesystem::path& directory);

}  // namespace millrace::io
