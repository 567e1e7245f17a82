#include "io/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "pipeline/core/error.h"

namespace millrace::io {

FileDescriptor open_unnamed(const std::filesystem::path& directory) {
  constexpr mode_t kMode = 0666;  // the umask takes away what the user does not want
  for (;;) {
    const int number = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
    if (number >= 0 || errno != EINTR) return FileDescriptor(number);
  }
}

bool link_unnamed(const FileDescriptor& file, const std::filesystem::path& path) {
  const std::string open_file = "/proc/self/fd/" + std::to_string(file.get());
  return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

FileDescriptor open_scratch(const std::filesystem::path& directory) {
  FileDescriptor unnamed = open_unnamed(directory);
  if (unnamed.valid()) return unnamed;
  std::string name = (directory / ".millrace_XXXXXX").string();
  FileDescriptor named(::mkostemp(name.data(), O_CLOEXEC));
  if (!named.valid()) throw system_error("cannot create a file here", errno).at_path(directory);
  ::unlink(name.c_str());
  return named;
}

}  // namespace millrace::io
