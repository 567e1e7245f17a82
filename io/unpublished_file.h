#pragma once

#include <filesystem>

#include "io/file_descriptor.h"
#include "io/live_temporaries.h"

namespace millrace::io {

/// The file that an output is written to before it is complete, in the directory of its target. It goes with this
/// object unless it was published. One thread at a time.
class UnpublishedFile {
 public:
  enum class Road {
    unnamed,  ///< a file without a name: whatever ends the process, nothing is left
    named,    ///< ".NAME.PID-N.tmp", which a SIGKILL leaves behind; on the list of live temporaries
  };

  /// Makes an empty file, with the mode that the umask leaves of 0666. Where files without a name cannot be made, or
  /// cannot be given one (which is tried with another file: no /proc, FUSE, NFS), it takes the named road. Error with
  /// the path.
  explicit UnpublishedFile(const std::filesystem::path& target, Road wanted = Road::unnamed);
  UnpublishedFile(const UnpublishedFile&) = delete;
  UnpublishedFile& operator=(const UnpublishedFile&) = delete;
  ~UnpublishedFile();

  Road road() const { return name_.empty() ? Road::unnamed : Road::named; }
  /// The file, open for reading and writing, once more. Error with the path.
  FileDescriptor descriptor() const;

  /// Gives the file the name `path`, in the directory of the target; what has that name is replaced in one step. Error
  /// with `path`; the file is then unpublished as before.
  void publish(const std::filesystem::path& path);
  /// After publish(): the name is on the device when it returns. Error with the path of the directory or of the target.
  void sync_name() const;

 private:
  void make_named();
  void rename_to(const std::filesystem::path& path);

  std::filesystem::path target_;
  FileDescriptor file_;
  std::filesystem::path name_;  // that it has now; empty = none
  LiveTemporary live_;
  bool linked_ = false;  // the number of its names changed
};

}  // namespace millrace::io
