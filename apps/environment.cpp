#include "apps/environment.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "apps/version.h"
#include "io/file_system.h"
#include "io/page_cache.h"
#include "pipeline/plan.h"

namespace millrace::apps {
namespace {

/// Files of one directory stand for it together.
std::vector<std::filesystem::path> representatives(const std::vector<std::filesystem::path>& paths) {
  std::map<std::filesystem::path, std::vector<std::filesystem::path>> by_directory;
  for (const auto& path : paths) {
    std::error_code failure;
    const auto absolute = std::filesystem::weakly_canonical(path, failure);
    if (failure) continue;
    auto& files = by_directory[absolute.parent_path()];
    if (std::find(files.begin(), files.end(), absolute) == files.end() && files.size() < 2) files.push_back(absolute);
  }
  std::vector<std::filesystem::path> result;
  result.reserve(by_directory.size());
  for (const auto& [directory, files] : by_directory) result.push_back(files.size() == 1 ? files.front() : directory);
  return result;
}

PathReport describe_path(const std::filesystem::path& path, const std::vector<io::Mount>& mounts) {
  const io::FileSystem facts = io::file_system_of(path, mounts);
  PathReport report;
  report.path = path.string();
  report.file_system = facts.type;
  report.mount_options = facts.mount_options;
  report.device = facts.device;
  report.read_ahead_kb = facts.read_ahead_kb;
  report.max_sectors_kb = facts.max_sectors_kb;
  report.rsize_bytes = facts.rsize_bytes;
  report.wsize_bytes = facts.wsize_bytes;
  report.direct_memory_alignment = facts.direct_memory_alignment;
  report.direct_offset_alignment = facts.direct_offset_alignment;
  return report;
}

}  // namespace

Environment describe_environment(const std::vector<std::filesystem::path>& paths) {
  Environment environment;
  utsname names{};
  if (::uname(&names) == 0) {
    environment.host = static_cast<const char*>(names.nodename);
    environment.kernel =
        std::string(static_cast<const char*>(names.sysname)) + " " + static_cast<const char*>(names.release);
  }
  environment.cpus = usable_cores();
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    environment.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  environment.millrace_version = version();
  const auto mounts = io::current_mounts();
  for (const auto& path : representatives(paths)) environment.paths.push_back(describe_path(path, mounts));
  return environment;
}

InputCache look_at_cache(const std::vector<std::filesystem::path>& inputs) {
  InputCache result;
  std::uint64_t resident = 0;
  bool known = !inputs.empty();
  result.in_memory = !inputs.empty();
  for (const auto& input : inputs) {
    const io::Residency here = io::residency_of(input);
    result.bytes += here.file_bytes;
    result.in_memory = result.in_memory && here.state == io::Residency::State::memory;
    known = known && here.resident_bytes.has_value();
    resident += here.resident_bytes.value_or(0);
  }
  if (known && result.bytes > 0) {
    result.resident_fraction = static_cast<double>(resident) / static_cast<double>(result.bytes);
  }
  return result;
}

std::int64_t device_bytes_read() {
  constexpr std::int64_t kSectorBytes = 512;
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::int64_t>(usage.ru_inblock) * kSectorBytes : -1;
}

bool counts_device_bytes(const std::vector<std::filesystem::path>& inputs) {
  const auto mounts = io::current_mounts();
  std::set<dev_t> seen;
  for (const auto& input : inputs) {
    struct stat status {};
    if (::stat(input.c_str(), &status) != 0 || !seen.insert(status.st_dev).second) continue;
    const io::FileSystem facts = io::file_system_of(input, mounts);
    if (facts.is_network() || facts.is_fuse() || facts.is_memory()) return false;
  }
  return !seen.empty();
}

}  // namespace millrace::apps
