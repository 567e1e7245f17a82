#include "apps/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include "apps/version.h"
#include "io/page_cache.h"
#include "pipeline/plan.h"

namespace millrace::apps {
namespace {

/// mountinfo writes blanks and the like as \040.
std::string unescaped(const std::string& field) {
  std::string result;
  for (std::size_t i = 0; i < field.size(); ++i) {
    unsigned value = 0;
    if (field[i] == '\\' && i + 3 < field.size() &&
        std::from_chars(field.data() + i + 1, field.data() + i + 4, value, 8).ptr == field.data() + i + 4) {
      result += static_cast<char>(value);
      i += 3;
    } else {
      result += field[i];
    }
  }
  return result;
}

std::optional<Mount> parse_mount(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; stream >> field;) fields.push_back(field);
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 3) return std::nullopt;
  Mount mount{fields[2], unescaped(fields[4]), fields[5], dash[1], unescaped(dash[2])};
  if (fields.end() - dash > 3) mount.options += "," + dash[3];
  return mount;
}

std::int64_t read_ahead_kb(const std::string& device_number) {
  std::ifstream file("/sys/class/bdi/" + device_number + "/read_ahead_kb");
  std::int64_t value = -1;
  return file >> value ? value : -1;
}

std::string mountinfo_text() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  std::istringstream stream{std::string(mountinfo)};
  for (std::string line; std::getline(stream, line);) {
    if (auto mount = parse_mount(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, const std::filesystem::path& path) {
  const auto below = [&path](const std::filesystem::path& point) {
    const auto [in_point, in_path] = std::mismatch(point.begin(), point.end(), path.begin(), path.end());
    return in_point == point.end() || in_point->empty();
  };
  const Mount* best = nullptr;
  for (const auto& mount : mounts) {
    // Of two on one point the later hides the earlier.
    if (below(mount.point) && (best == nullptr || mount.point.size() >= best->point.size())) best = &mount;
  }
  return best;
}

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
  const auto mounts = parse_mounts(mountinfo_text());
  for (const auto& path : representatives(paths)) {
    PathReport report;
    report.path = path.string();
    if (const Mount* const mount = mount_of(mounts, path)) {
      report.file_system = mount->file_system;
      report.mount_options = mount->options;
      report.device = mount->device;
      report.read_ahead_kb = read_ahead_kb(mount->device_number);
    }
    environment.paths.push_back(std::move(report));
  }
  return environment;
}

InputCache look_at_cache(const std::vector<std::filesystem::path>& inputs) {
  InputCache result;
  std::uint64_t resident = 0;
  bool known = !inputs.empty();
  for (const auto& input : inputs) {
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(input, failure);
    if (!failure) result.bytes += bytes;
    const auto here = known ? io::resident_bytes(input) : std::nullopt;
    known = known && here.has_value();
    resident += here.value_or(0);
  }
  if (known && result.bytes > 0) {
    result.resident_fraction = static_cast<double>(resident) / static_cast<double>(result.bytes);
  }
  return result;
}

}  // namespace millrace::apps
