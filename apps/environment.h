#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "pipeline/report.h"

namespace millrace::apps {

/// This machine, and the file systems below `paths`: one entry for each directory that holds some of them (for a
/// directory with one of them: that path). Never throws; what cannot be found out stays empty or negative.
Environment describe_environment(const std::vector<std::filesystem::path>& paths);

/// Sizes of the inputs and the fraction of them in the page cache; negative when it is not known of one of them.
struct InputCache {
  std::uint64_t bytes = 0;
  double resident_fraction = -1;
  bool in_memory = false;  ///< all of them are on file systems that have no device
};
InputCache look_at_cache(const std::vector<std::filesystem::path>& inputs);

/// Bytes that block devices delivered to this process since it began, ring and worker threads too; negative: not known.
std::int64_t device_bytes_read();
/// Whether that figure sees reads of these files: not on file systems of networks, of FUSE, and in memory.
bool counts_device_bytes(const std::vector<std::filesystem::path>& inputs);

}  // namespace millrace::apps
