#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/file_system.h"
#include "io/page_cache.h"
#include "io/transports.h"

namespace millrace::apps {

/// Lengths of the pieces that a reader asks a file for.
struct ExtentSummary {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t shortest_bytes = 0;
  std::uint64_t longest_bytes = 0;
};

/// What files of reads hold.
struct SignalSummary {
  std::uint64_t reads = 0;
  std::optional<std::uint64_t> samples;          ///< nothing: only unpacking all records would tell (BLOW5 with zstd)
  std::map<std::string, std::uint64_t> codings;  ///< reads of each
};

/// What one transport can do at a file's place.
struct TransportCheck {
  std::string name;
  io::Probe read;
  io::Probe write;  ///< in the file's directory
};

/// All that is known of a file without reading its bulk.
struct Inspection {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::string format;         ///< by its start: "FAST5", "POD5", "npy"; empty = nothing that can be told
  std::string format_detail;  ///< one clause: the header of an npy file, why a file cannot be read; may be empty
  std::optional<SignalSummary> signal;
  std::optional<ExtentSummary> extents;
  io::FileSystem file_system;
  std::vector<TransportCheck> transports;
  io::Residency cache;  ///< before anything was read
  bool evicted = false;
  std::optional<std::uint64_t> left_bytes;  ///< in the page cache after the eviction, where that can be known
};

/// Looks at a regular file, or at a directory that is a Zarr array or group. Reads its first page, and the index of a
/// FAST5, POD5 or BLOW5 file (for SLOW5 text, that is all of it). Error with the path (kind config) when there is no
/// such file; other Errors when it cannot be read or evicted.
Inspection inspect(const std::filesystem::path& path, bool evict, const std::vector<io::Mount>& mounts);

/// True for a directory that is a Zarr store, by the files in it.
bool is_zarr(const std::filesystem::path& path);

}  // namespace millrace::apps
