#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "io/alignment.h"
#include "io/block_progress.h"
#include "io/file_descriptor.h"
#include "io/reader.h"
#include "io/uring.h"
#include "io/via.h"
#include "pipeline/core/buffer.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// Reads through io_uring, up to `depth` extents at the same time: those that were announced are under way while one is
/// waited for. Long extents are several requests at once into the same buffer. Promises and errors of Reader.
class UringReader final : public Reader {
 public:
  /// `direct`: past the page cache, whole blocks around the extent. `session`: whose ring is used; null = one of its
  /// own. Error with the path as open_input(), and when the file system has no direct I/O.
  UringReader(std::filesystem::path path, const ReadVia& via, bool direct,
              std::shared_ptr<RingSession> session = nullptr);
  /// Waits for the reads that are in flight.
  ~UringReader() override;

  Buffer read(Extent extent) override;
  Lookahead lookahead() const override { return {depth_ - 1, 0}; }
  void announce(Extent extent) override;
  std::uint64_t size() const override { return size_; }
  const std::filesystem::path& path() const override { return path_; }
  int descriptor() const override { return file_.get(); }
  IoStats stats() const override;

  static constexpr std::uint32_t kUsualDepth = 4;

 private:
  struct Part {
    Part(Extent blocks, std::uint64_t wanted_end, std::uint64_t block) : progress(blocks, wanted_end, block) {}
    RingRequest request;
    BlockProgress progress;
    Extent asked;
  };
  struct Transfer {
    Extent extent;
    std::uint64_t begin = 0;  // place in the file of the buffer's first byte
    Buffer buffer;            // empty: it could not be begun
    std::deque<Part> parts;   // which must stay where they are
  };

  std::unique_ptr<Transfer> take(Extent extent);
  std::unique_ptr<Transfer> begin(Extent extent);
  void ask(Transfer& transfer, Part& part);
  void finish(Transfer& transfer);
  void finish(Transfer& transfer, Part& part);
  void give_up(Transfer& transfer) noexcept;
  Ring& ring();

  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t size_;
  Alignment alignment_;
  std::uint32_t depth_;
  std::uint64_t request_bytes_;
  std::shared_ptr<RingSession> session_;
  std::uint64_t ring_id_ = 0;  // of the ring that ring_file_ is valid for
  RingFile ring_file_;
  std::deque<std::unique_ptr<Transfer>> announced_;
  IoStats stats_;
};

/// Tries a ring, and direct I/O where that is wanted, on a file.
Probe probe_uring_read(const std::filesystem::path& file, bool direct);

}  // namespace millrace::io
