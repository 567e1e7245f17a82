#pragma once

#include <cstdint>
#include <string>

#include "tests/support/slowfs/control.h"

namespace millrace::slowfs {

/// How a directory is mounted; all of it is fixed while it is mounted.
struct Mount {
  std::string source;               ///< the directory that is shown
  std::string mountpoint;           ///< an empty directory
  bool foreground = false;          ///< serve() returns when the mount has ended, instead of when it has begun
  std::uint64_t max_readahead = 0;  ///< bytes that the kernel may read ahead; 0 = what it offers (128 KiB)
  std::uint64_t max_background =
      0;                   ///< requests of read-ahead and writeback that may be in flight; 0 = the kernel's 12
  bool writeback = false;  ///< the kernel gathers writes in its cache and sends them later
};

/// Mounts and serves until the mount ends: by umount, SIGTERM, SIGINT or SIGHUP, the end of the process that started it
/// (in the foreground), or a failure. In the foreground it says "serving" on standard error when the kernel can use it;
/// else it goes into the background then. Gives the exit status.
int serve(const Mount& mount, Control& control);

}  // namespace millrace::slowfs
