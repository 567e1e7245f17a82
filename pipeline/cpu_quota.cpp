#include "pipeline/cpu_quota.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/plan.h"

namespace millrace {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string whole_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool lists(const std::string& comma_separated, const std::string& word) {
  const auto parts = split(comma_separated, ',');
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

/// cpu.max holds "quota period" or "max period" (Documentation/admin-guide/cgroup-v2.rst).
std::optional<double> quota_v2(const std::filesystem::path& group) {
  std::istringstream text(whole_file(group / "cpu.max"));
  double quota = 0;
  double period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// cpu.cfs_quota_us is -1 without a limit (Documentation/scheduler/sched-bwc.rst).
std::optional<double> quota_v1(const std::filesystem::path& group) {
  std::istringstream quota_text(whole_file(group / "cpu.cfs_quota_us"));
  std::istringstream period_text(whole_file(group / "cpu.cfs_period_us"));
  double quota = 0;
  double period = 0;
  if (!(quota_text >> quota) || !(period_text >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

struct CgroupMount {
  std::string root;  ///< the group that the mount point shows
  std::filesystem::path point;
  bool v2 = false;
};

/// Lines of mountinfo: id parent device root mount-point options [optional...] - type source super-options.
std::vector<CgroupMount> cpu_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const auto& line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const bool v2 = dash[1] == "cgroup2";
    if (v2 || (dash[1] == "cgroup" && lists(dash[3], "cpu"))) mounts.push_back({fields[3], fields[4], v2});
  }
  return mounts;
}

/// The group of the process in the hierarchy of one mount, as /proc/self/cgroup has it: id:controllers:path.
std::string group_of(std::string_view memberships, bool v2) {
  for (const auto& line : split(memberships, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

std::optional<double> quota_below(const CgroupMount& mount, std::string group) {
  // Inside a container the mount point may show a group below the root; outside paths do not exist in it.
  if (mount.root != "/" && group.starts_with(mount.root)) group.erase(0, mount.root.size());
  std::filesystem::path directory = (mount.point / std::filesystem::path(group).relative_path()).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  std::optional<double> smallest;
  while (true) {
    const auto quota = mount.v2 ? quota_v2(directory) : quota_v1(directory);
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
    if (directory == mount.point || directory == directory.parent_path()) return smallest;
    directory = directory.parent_path();
  }
}

/// Cores in the affinity mask. The mask grows until the kernel finds it large enough.
std::uint32_t affinity_cores() {
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    const std::unique_ptr<cpu_set_t, std::function<void(cpu_set_t*)>> mask(CPU_ALLOC(bits),
                                                                           [](cpu_set_t* set) { CPU_FREE(set); });
    const std::size_t bytes = CPU_ALLOC_SIZE(bits);
    if (mask == nullptr) break;
    if (::sched_getaffinity(0, bytes, mask.get()) == 0)
      return static_cast<std::uint32_t>(CPU_COUNT_S(bytes, mask.get()));
    if (errno != EINVAL) break;
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const CgroupView& view) {
  std::optional<double> smallest;
  for (const auto& mount : cpu_mounts(view.mounts)) {
    const auto quota = quota_below(mount, group_of(view.memberships, mount.v2));
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
  }
  return smallest;
}

std::uint32_t usable_cores() {
  const std::string memberships = whole_file("/proc/self/cgroup");
  const std::string mounts = whole_file("/proc/self/mountinfo");
  const std::uint32_t cores = std::max(1U, affinity_cores());
  const auto quota = cgroup_cpu_quota({memberships, mounts});
  if (!quota) return cores;
  return std::max(1U, std::min(cores, static_cast<std::uint32_t>(std::ceil(std::min(*quota, 1e6)))));
}

}  // namespace millrace
