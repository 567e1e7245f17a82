#pragma once

#include <filesystem>
#include <string>

#include "io/positioned_file.h"
#include "io/transports.h"

namespace millrace::io {

/// Reads through the page cache without leaving behind what was not there before (RWF_DONTCACHE, Linux 6.14). Promises
/// and errors of Reader.
class DontcacheReader final : public PositionedReader {
 public:
  /// Error with the path as open_input(). `requested`: the transport that the config names, for the report.
  explicit DontcacheReader(std::filesystem::path path, std::string requested = "dontcache");

  /// Asks the kernel and the file system with one real call that reads nothing.
  static Probe probe(const std::filesystem::path& file);
};

/// Writes through the page cache, starts writeback at once and keeps no page after it. On ext4 pages that are written
/// over stay in the cache all the same (linux_io c5): an output is written once. Promises and errors of Writer.
class DontcacheWriter final : public PositionedWriter {
 public:
  /// `path`: for errors.
  DontcacheWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via = {});

  /// Asks with one real write to a file that has no name and goes at once.
  static Probe probe(const std::filesystem::path& directory);
};

}  // namespace millrace::io
