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
  /// Whether neighbours in a file are read in one go, where the page cache does not do that: pieces in the order of the
  /// file with gaps of at most 16 KiB, up to 1 MiB together. Their buffers are then parts of one, shared; not for
  /// sources whose chunks are worked on in place.
  enum class Grouping { alone, neighbours };
  /// Piece number `index`; nothing = there are no more. Pieces with an empty extent, or without a file, are not read.
  using Pieces = std::function<std::optional<Piece>(std::uint64_t index)>;

  explicit PieceReader(ReadVia via);

  /// Settles the transport for these files (io/via.h). Error as settle().
  void prepare(const std::vector<std::filesystem::path>& files, Pieces pieces, Grouping grouping = Grouping::alone);
  /// For the further slots of a source: they share the pieces, and as each gets any number, none can know what comes
  /// next: nothing is announced from now on. Error (kind config) when the config asks for a depth or for windowed
  /// advice, which only one slot can do.
  void prepare_like(const PieceReader& first);

  /// The bytes of piece `index`.
  Buffer read(std::uint64_t index);
  /// The reader of `path`, for extents that are no pieces.
  Reader& at(const std::filesystem::path& path);

  const ReadVia& via() const { return via_; }
  BufferNeeds buffer_needs() const;
  /// What all readers did together.
  IoStats stats() const;

 private:
  /// Pieces [first, end) that are read as one extent; one piece where there is no grouping.
  struct Group {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    const std::filesystem::path* file = nullptr;
    Extent extent;
  };

  Group group_from(std::uint64_t index) const;
  void announce_from(std::uint64_t index);
  Group take(std::uint64_t index);
  void close_before(const std::filesystem::path& path);

  ReadVia via_;
  std::shared_ptr<const Pieces> pieces_;
  bool grouping_ = false;
  std::shared_ptr<std::atomic<bool>> alone_ = std::make_shared<std::atomic<bool>>(true);
  std::deque<std::unique_ptr<Reader>> open_;  // in order of the pieces that they are wanted for
  std::shared_ptr<ReaderSession> session_;
  std::deque<Group> announced_;  // and not read
  std::uint64_t next_ = 0;       // the piece behind the last group that was announced
  Group current_;                // the group whose bytes current_bytes_ are
  Buffer current_bytes_;         // empty: none
  IoStats closed_;
};

}  // namespace millrace::io
