#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "io/open_file.h"
#include "io/reader.h"
#include "pipeline/core/io_stats.h"
#include "pipeline/core/stage.h"

namespace millrace::io {

/// Reads the numbered pieces of many files for a source: opens the files in turn, and tells the readers what comes next
/// as far ahead as they want to hear it. One thread at a time.
class PieceReader {
 public:
  /// One piece. `file` must stay valid while the PieceReader lives.
  struct Piece {
    const std::filesystem::path* file = nullptr;
    Extent extent;
  };
  /// Piece number `index`; nothing = there are no more. Pieces with an empty extent, or without a file, are not read.
  using Pieces = std::function<std::optional<Piece>(std::uint64_t index)>;

  explicit PieceReader(ReadVia via);

  /// Settles the transport for these files (io/via.h). Error as settle().
  void prepare(const std::vector<std::filesystem::path>& files, Pieces pieces);
  /// For the further slots of a source: they share the pieces, and as each gets any number, none can know what comes
  /// next: nothing is announced from now on. Error (kind config) when the config asks for a depth or for windowed
  /// advice, which only one slot can do.
  void prepare_like(const PieceReader& first);

  /// The bytes of piece `index`.
  Buffer read(std::uint64_t index);
  /// The reader of `path`, for extents that are no pieces.
  Reader& at(const std::filesystem::path& path);

  const ReadVia& via() const { return via_; }
  BufferNeeds buffer_needs() const { return io::buffer_needs(via_); }
  /// What all readers did together.
  IoStats stats() const;

 private:
  void announce_from(std::uint64_t index);
  void close_before(const std::filesystem::path& path);

  ReadVia via_;
  std::shared_ptr<const Pieces> pieces_;
  std::shared_ptr<std::atomic<bool>> alone_ = std::make_shared<std::atomic<bool>>(true);
  std::deque<std::unique_ptr<Reader>> open_;  // in order of the pieces that they are wanted for
  std::shared_ptr<ReaderSession> session_;
  std::uint64_t announced_ = 0;        // pieces below this were announced or passed by
  std::uint64_t next_ = 0;             // the piece after the last one that was read
  std::uint64_t announced_bytes_ = 0;  // of pieces [next_, announced_)
  IoStats closed_;
};

}  // namespace millrace::io
