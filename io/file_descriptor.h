#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

namespace millrace::io {

/// An open file of the kernel; closed by its destructor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { close(); }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  /// Closes early. What close(2) returns is not looked at: data that must be safe has been synced before.
  void close() noexcept;

 private:
  int number_ = -1;
};

/// Opens a regular file for reading. Never blocks on a FIFO. Error with the path: missing, not readable, a directory, a
/// FIFO or another thing that is no regular file. `flags` are added to O_RDONLY | O_CLOEXEC.
FileDescriptor open_input(const std::filesystem::path& path, int flags = 0);

/// Creates a regular file for reading and writing. Error with the path when it exists or cannot be made.
FileDescriptor create_output(const std::filesystem::path& path, int flags = 0);

/// Bytes in the file now. Error with the path.
std::uint64_t size_of(const FileDescriptor& file, const std::filesystem::path& path);

/// Forces the names in a directory onto the device (fsync of the directory). Error with the path. A file system that
/// cannot sync directories (EINVAL) is taken as having nothing to force.
void sync_directory(const std::filesystem::path& directory);

}  // namespace millrace::io
