#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <span>
#include <string>

#include "io/aligned_writer.h"
#include "io/uring.h"
#include "io/via.h"
#include "io/write_behind.h"
#include "pipeline/core/buffer.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// Writes through io_uring: up to `depth` buffers are being written while the caller goes on. Through the page cache,
/// writeback is started behind the stream (io/write_behind.h). Promises and errors of Writer; of several writes that
/// fail the first place is reported.
class UringWriter final : public AlignedWriter {
 public:
  /// `direct`: past the page cache.
  UringWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via, bool direct);
  /// Waits for the writes that are in flight.
  ~UringWriter() override;

  static constexpr std::uint32_t kUsualDepth = 4;

 private:
  struct Write {
    RingRequest request;
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;  // what is not written yet
    std::size_t asked = 0;             // bytes of the request
    Buffer owner;                      // empty: the caller waits
  };

  void put(std::uint64_t offset, Buffer blocks) override;
  void put_now(std::uint64_t offset, std::span<const std::byte> blocks) override;
  void drain() override;
  void synced(std::uint64_t end) override;
  std::string detail() const override;

  Ring& ring();
  void start(std::uint64_t offset, std::span<const std::byte> bytes, Buffer owner);
  void ask(Write& write);
  void take_in();
  bool take_in(Write& write);

  std::uint32_t depth_;
  WriteBehind write_behind_;
  ThreadRing ring_;
  std::uint64_t ring_id_ = 0;  // of the ring that ring_file_ is valid for
  RingFile ring_file_;
  std::list<Write> writes_;       // in flight
  std::optional<Error> failure_;  // the first place of those that failed
};

/// Tries a ring, and direct I/O where that is wanted, on a file without a name in `directory`.
Probe probe_uring_write(const std::filesystem::path& directory, bool direct);

}  // namespace millrace::io
