#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/support/temp_directory.h"

namespace millrace::test {

/// A tmpfs of a few bytes, to run out of space for real. Mounting needs root: ask mounted() and skip with reason().
class SmallDisk {
 public:
  explicit SmallDisk(std::uint64_t bytes) {
    const std::string size = "size=" + std::to_string(bytes);
    if (::mount("millrace_test", directory_.path().c_str(), "tmpfs", 0, size.c_str()) == 0) {
      mounted_ = true;
    } else {
      reason_ = std::string("a small tmpfs cannot be mounted: ") + std::strerror(errno);
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }

  bool mounted() const { return mounted_; }
  const std::string& reason() const { return reason_; }
  const TempDirectory& directory() const { return directory_; }

 private:
  TempDirectory directory_;
  bool mounted_ = false;
  std::string reason_;
};

}  // namespace millrace::test
