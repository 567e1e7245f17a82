#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::io {

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
/// Those that this process sees.
std::vector<Mount> current_mounts();

/// The mount that an absolute path without `.`, `..` and links lies on; null when there is none.
const Mount* mount_of(const std::vector<Mount>& mounts, const std::filesystem::path& path);

/// What is known of the file system that a path lies on. Negative numbers and empty texts: not known.
struct FileSystem {
  std::string type;                  ///< "ext4", "nfs4", "fuse.sshfs"
  std::string mount_options;         ///< with commas
  std::string device;                ///< "/dev/vda", "server:/export"
  std::int64_t read_ahead_kb = -1;   ///< the kernel's own read-ahead, in KiB
  std::int64_t max_sectors_kb = -1;  ///< largest request to the block device, in KiB
  std::int64_t rsize_bytes = -1;     ///< largest read request over the network
  std::int64_t wsize_bytes = -1;
  /// What O_DIRECT asks of addresses and of offsets and lengths; 0 = the file system does not say, so that direct
  /// transfers are not guaranteed (statx(2), STATX_DIOALIGN).
  std::uint64_t direct_memory_alignment = 0;
  std::uint64_t direct_offset_alignment = 0;

  /// Served over a network, by the kernel or by a process of FUSE that is known to.
  bool is_network() const;
  bool is_fuse() const;
  /// Its files live in the page cache: nothing can be cold, advice means nothing.
  bool is_memory() const;
  /// Bytes that one call of prefetch advice can start at most; what it asks for beyond that is dropped without a word
  /// (linux_io section d2). 128 KiB, the kernel's default, where the settings cannot be seen.
  std::uint64_t prefetch_limit_bytes() const;
};

/// Facts about where an existing path lies. `mounts`: current_mounts(). In a chroot whose root is no mount point they
/// come from statfs(2). Never throws.
FileSystem file_system_of(const std::filesystem::path& path, const std::vector<Mount>& mounts);
FileSystem file_system_of(const std::filesystem::path& path);

}  // namespace millrace::io
