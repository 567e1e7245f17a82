#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "io/file_descriptor.h"
#include "io/reader.h"
#include "io/sigbus_guard.h"
#include "io/transports.h"
#include "io/via.h"
#include "io/write_behind.h"
#include "io/writer.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// Shows the bytes of a file where the kernel maps them: nothing is copied and no memory is loaned. Buffers are
/// read-only and keep their part of the map alive, also after the reader. Promises and errors of Reader; but a buffer
/// shows the file, not a copy: what others write there meanwhile is seen, and what they cut off is zeros, which the
/// thread that touches them finds noted (io/sigbus_guard.h).
///
/// read() fetches the pages itself, so that the wait is the reader's and a failure an Error, unless
/// ReadVia::consumer_faults leaves both to whoever touches a page first.
class MappedReader final : public Reader {
 public:
  /// Error with the path as open_input(). Of `via`: advice normal, sequential and random for the map (willneed is the
  /// business of others), consumer_faults, drop_behind (the map lets go of what a buffer showed), and the name of the
  /// transport for the report.
  explicit MappedReader(std::filesystem::path path, const ReadVia& via = {});
  ~MappedReader() override;

  Buffer read(Extent extent) override;
  std::uint64_t size() const override { return size_; }
  const std::filesystem::path& path() const override { return path_; }
  int descriptor() const override { return file_.get(); }
  IoStats stats() const override { return stats_; }

  /// Tries to map the file. Where it works over a network or through FUSE, the reason says that it may be slow.
  static Probe probe(const std::filesystem::path& file);

 private:
  class Map;
  class Views;

  Map& map_of(Extent extent);
  void advise(Map& map);
  void fetch(std::span<const std::byte> memory, Extent extent);
  void touch(std::span<const std::byte> memory, Extent extent);
  void require_there(Extent extent) const;
  void require_readable(std::uint64_t offset) const;
  Error unreadable(int reason, std::uint64_t offset) const;

  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t size_;
  AdvicePolicy::Kind advice_;
  bool consumer_faults_;
  bool kernel_fetches_ = true;  // MADV_POPULATE_READ is there
  std::shared_ptr<Views> views_;
  std::shared_ptr<Map> map_;  // the last one; older ones live as long as their buffers
  IoStats stats_;
};

/// Copies into the mapped file; the kernel writes when it likes. The file grows in steps whose room is asked for before
/// they are touched, so that a full disk is an Error. Promises and errors of Writer.
class MappedWriter final : public Writer {
 public:
  /// `path`: for errors.
  MappedWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via = {});
  ~MappedWriter() override;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void flush() override;
  void sync() override;
  const std::filesystem::path& path() const override { return path_; }
  IoStats stats() const override;

  /// Tries to map a file without a name. The reason as in MappedReader::probe.
  static Probe probe(const std::filesystem::path& directory);

 private:
  void make_room(std::uint64_t begin, std::uint64_t end);
  int allocate(std::uint64_t begin, std::uint64_t end) const;
  void map_window(std::uint64_t begin);
  void unmap() noexcept;
  [[noreturn]] void fail(Error error);

  std::filesystem::path path_;
  FileDescriptor file_;
  WriteBehind write_behind_;
  std::uint64_t step_;
  std::uint64_t end_ = 0;       // of the bytes written
  std::uint64_t room_end_ = 0;  // size of the file now
  std::span<std::byte> window_;
  std::uint64_t window_begin_ = 0;
  SigbusGuard guard_;
  IoStats stats_;
  std::optional<Error> failure_;
};

}  // namespace millrace::io
