#include "io/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace millrace::io {
namespace {

/// What one advice call starts where nothing is known of the device: the kernel's default read-ahead.
constexpr std::uint64_t kUsualReadAheadBytes = 128ULL << 10;

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

std::int64_t number_in(const std::string& file) {
  std::ifstream stream(file);
  std::int64_t value = -1;
  return stream >> value && value >= 0 ? value : -1;
}

/// The first file that has a number.
std::int64_t first_number_in(std::initializer_list<std::string> files) {
  for (const auto& file : files) {
    if (const std::int64_t value = number_in(file); value >= 0) return value;
  }
  return -1;
}

/// "rsize" of "rw,rsize=1048576"; negative when it is not there.
std::int64_t option_value(const std::string& options, const std::string& key) {
  std::istringstream stream(options);
  for (std::string option; std::getline(stream, option, ',');) {
    if (!option.starts_with(key + "=")) continue;
    std::int64_t value = -1;
    const char* const end = option.data() + option.size();
    return std::from_chars(option.data() + key.size() + 1, end, value).ptr == end ? value : -1;
  }
  return -1;
}

/// Partitions have the settings of their disk, one directory up.
void add_device_settings(FileSystem& facts, const std::string& number) {
  const std::string block = "/sys/dev/block/" + number;
  facts.read_ahead_kb = first_number_in({"/sys/class/bdi/" + number + "/read_ahead_kb", block + "/queue/read_ahead_kb",
                                         block + "/../queue/read_ahead_kb"});
  facts.max_sectors_kb = first_number_in({block + "/queue/max_sectors_kb", block + "/../queue/max_sectors_kb"});
}

struct MagicName {
  std::uint32_t magic;
  const char* name;
};

/// f_type of statfs(2), where mountinfo cannot be asked. The ext family shares a number.
constexpr std::array<MagicName, 24> kMagicNames{
    {{0xEF53, "ext2/3/4"},  {0x58465342, "xfs"},      {0x9123683E, "btrfs"},    {0x01021994, "tmpfs"},
     {0x858458F6, "ramfs"}, {0x794C7630, "overlay"},  {0x6969, "nfs"},          {0x65735546, "fuse"},
     {0xFF534D42, "cifs"},  {0xFE534D42, "smb3"},     {0x00C36400, "ceph"},     {0x0BD00BD0, "lustre"},
     {0x47504653, "gpfs"},  {0x19830326, "beegfs"},   {0x01021997, "9p"},       {0x2FC12FC1, "zfs"},
     {0xF2F52010, "f2fs"},  {0xCA451A4E, "bcachefs"}, {0x73717368, "squashfs"}, {0xE0F5E1E2, "erofs"},
     {0x4D44, "vfat"},      {0x2011BAB0, "exfat"},    {0x9660, "iso9660"},      {0x5346414F, "afs"}}};

std::string name_of_magic(std::uint32_t magic) {
  const auto* const found = std::find_if(kMagicNames.begin(), kMagicNames.end(),
                                         [magic](const MagicName& one) { return one.magic == magic; });
  if (found != kMagicNames.end()) return found->name;
  std::array<char, 8> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), magic, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string options_of_flags(unsigned long flags) {
  std::string text = (flags & ST_RDONLY) != 0 ? "ro" : "rw";
  const std::array<std::pair<unsigned long, const char*>, 7> names{{{ST_NOSUID, "nosuid"},
                                                                    {ST_NODEV, "nodev"},
                                                                    {ST_NOEXEC, "noexec"},
                                                                    {ST_SYNCHRONOUS, "sync"},
                                                                    {ST_NOATIME, "noatime"},
                                                                    {ST_NODIRATIME, "nodiratime"},
                                                                    {ST_RELATIME, "relatime"}}};
  for (const auto& [flag, name] : names) {
    if ((flags & flag) != 0) text += std::string(",") + name;
  }
  return text;
}

/// What the path itself says, where no mount that this process sees covers it.
void add_from_path(FileSystem& facts, const std::filesystem::path& path) {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) == 0) facts.type = name_of_magic(static_cast<std::uint32_t>(system.f_type));
  struct statvfs flags {};
  if (::statvfs(path.c_str(), &flags) == 0) facts.mount_options = options_of_flags(flags.f_flag);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  const std::string number = std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  add_device_settings(facts, number);
  std::error_code failure;
  const auto device = std::filesystem::read_symlink("/sys/dev/block/" + number, failure);
  if (!failure) facts.device = "/dev/" + device.filename().string();
}

void add_direct_alignment(FileSystem& facts, const std::filesystem::path& path) {
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_DIOALIGN, &status) != 0) return;
  if ((status.stx_mask & STATX_DIOALIGN) == 0) return;
  facts.direct_memory_alignment = status.stx_dio_mem_align;
  facts.direct_offset_alignment = status.stx_dio_offset_align;
}

template <typename Names>
bool is_one_of(const std::string& text, const Names& names) {
  return std::find(names.begin(), names.end(), text) != names.end();
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

std::vector<Mount> current_mounts() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_mounts(text.str());
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

bool FileSystem::is_network() const {
  constexpr std::array<std::string_view, 18> kNames{
      "nfs", "nfs4",  "cifs",     "smb3",  "ceph",   "lustre",     "gpfs",           "beegfs",         "9p",
      "afs", "pvfs2", "orangefs", "panfs", "wekafs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.s3fs"};
  return is_one_of(type, kNames);
}

bool FileSystem::is_fuse() const {
  return type == "fuse" || type == "fuseblk" || type == "virtiofs" || type.starts_with("fuse.");
}

bool FileSystem::is_memory() const {
  constexpr std::array<std::string_view, 4> kNames{"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"};
  return is_one_of(type, kNames);
}

std::uint64_t FileSystem::prefetch_limit_bytes() const {
  const std::int64_t known = std::max({read_ahead_kb * 1024, max_sectors_kb * 1024, rsize_bytes, std::int64_t{0}});
  const bool on_a_disk = max_sectors_kb > 0 && !is_network() && !is_fuse();
  return on_a_disk ? static_cast<std::uint64_t>(known)
                   : std::max(static_cast<std::uint64_t>(known), kUsualReadAheadBytes);
}

FileSystem file_system_of(const std::filesystem::path& path, const std::vector<Mount>& mounts) {
  FileSystem facts;
  std::error_code failure;
  const auto absolute = std::filesystem::weakly_canonical(path, failure);
  const Mount* const mount = failure ? nullptr : mount_of(mounts, absolute);
  if (mount == nullptr) {
    add_from_path(facts, path);
  } else {
    facts.type = mount->file_system;
    facts.mount_options = mount->options;
    facts.device = mount->device;
    add_device_settings(facts, mount->device_number);
  }
  facts.rsize_bytes = option_value(facts.mount_options, "rsize");
  facts.wsize_bytes = option_value(facts.mount_options, "wsize");
  add_direct_alignment(facts, path);
  return facts;
}

FileSystem file_system_of(const std::filesystem::path& path) { return file_system_of(path, current_mounts()); }

}  // namespace millrace::io
