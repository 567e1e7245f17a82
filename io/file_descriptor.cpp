#include "io/file_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

int open_retrying(const std::filesystem::path& path, int flags, mode_t mode = 0) {
  for (;;) {
    const int number = ::open(path.c_str(), flags, mode);
    if (number >= 0 || errno != EINTR) return number;
  }
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  return "a block device";
}

struct stat status_of(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw system_error("cannot get the file's status", errno).at_path(path);
  return status;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

void FileDescriptor::close() noexcept {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

FileDescriptor open_input(const std::filesystem::path& path, int flags) {
  // O_NONBLOCK: opening a FIFO without a writer would wait for ever; regular files do not care.
  FileDescriptor file(open_retrying(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (!file.valid()) {
    if (errno == ENOENT) throw Error("there is no such file").at_path(path);
    throw system_error("cannot open for reading", errno).at_path(path);
  }
  const mode_t mode = status_of(file, path).st_mode;
  if (!S_ISREG(mode)) throw Error(std::string("is ") + kind_of(mode) + ", not a regular file").at_path(path);
  return file;
}

FileDescriptor create_output(const std::filesystem::path& path, int flags) {
  constexpr mode_t kMode = 0666;  // the umask takes away what the user does not want
  FileDescriptor file(open_retrying(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | flags, kMode));
  if (!file.valid()) throw system_error("cannot create", errno).at_path(path);
  return file;
}

std::uint64_t size_of(const FileDescriptor& file, const std::filesystem::path& path) {
  return static_cast<std::uint64_t>(status_of(file, path).st_size);
}

void sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor file(open_retrying(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.valid()) throw system_error("cannot open the directory", errno).at_path(directory);
  if (::fsync(file.get()) != 0 && errno != EINVAL) {
    throw system_error("cannot sync the directory", errno).at_path(directory);
  }
}

}  // namespace millrace::io
