#pragma once

#include <array>
#include <filesystem>
#include <ostream>
#include <string>

namespace millrace::test {

/// Kinds of file systems that behave differently under direct I/O, the page cache and io_uring.
enum class FileSystem {
  local,    ///< whatever temporary files lie on
  ext4,     ///< as the next ones in an image of its own
  ext4_4k,  ///< on a device whose sectors have 4096 bytes
  xfs,
  btrfs,
  tmpfs,
  overlay,  ///< over ext4
  fuse,     ///< slowfs, at full speed
};
inline constexpr std::array kFileSystems{FileSystem::local, FileSystem::ext4,  FileSystem::ext4_4k, FileSystem::xfs,
                                         FileSystem::btrfs, FileSystem::tmpfs, FileSystem::overlay, FileSystem::fuse};

/// "ext4" and so on.
std::string name_of(FileSystem kind);
/// For the messages of GoogleTest.
inline void PrintTo(FileSystem kind, std::ostream* out) { *out << name_of(kind); }

/// Where a file system of some kind is mounted, or why it is not.
struct Place {
  std::filesystem::path directory;  ///< empty, and may be written
  std::string missing;              ///< why there is none: no rights, no mkfs; else empty
};

/// Makes the file system, 100 MB of room at least (sparse), when the program first asks for it; it is removed when the
/// program ends. All but `local` and `fuse` need root. One thread.
const Place& place_on(FileSystem kind);

}  // namespace millrace::test
