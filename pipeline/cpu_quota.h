#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace millrace {

/// A process's view of its control groups, as text.
struct CgroupView {
  std::string_view memberships;  ///< /proc/self/cgroup
  std::string_view mounts;       ///< /proc/self/mountinfo
};

/// Cores of CPU time per second that the control groups of the process (v1 cpu controller or v2) grant it: the smallest
/// quota / period from its own group up to the mount point. Nothing when no group has a quota or none can be read.
std::optional<double> cgroup_cpu_quota(const CgroupView& view);

}  // namespace millrace
