#pragma once

#include <filesystem>
#include <iterator>

namespace millrace::test {

/// Open file descriptors of this process, the one that counts them included.
inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

}  // namespace millrace::test
