#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/report.h"

namespace millrace::apps {

/// One line of /proc/self/mountinfo.
struct Mount {
  std::string device_number;  ///< "254:0"
  std::string point;
  std::string options;  ///< of the mount and of the file system, with commas
  std::string file_system;
  std::string device;
};

/// Parses /proc/self/mountinfo (proc(5)); lines that do not look like it are left out.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

/// The mount that an absolute path without `.`, `..` and links lies on; null when there is none.
const Mount* mount_of(const std::vector<Mount>& mounts, const std::filesystem::path& path);

/// This machine, and the file systems below `paths`: one entry for each directory that holds some of them (for a
/// directory with one of them: that path). Never throws; what cannot be found out stays empty or negative.
Environment describe_environment(const std::vector<std::filesystem::path>& paths);

/// Sizes of the inputs and the fraction of them in the page cache; negative when it is not known of one of them.
struct InputCache {
  std::uint64_t bytes = 0;
  double resident_fraction = -1;
};
InputCache look_at_cache(const std::vector<std::filesystem::path>& inputs);

}  // namespace millrace::apps
