#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "io/reader.h"
#include "pipeline/core/dtype.h"

namespace millrace::io {

/// Files without structure, cut into extents of equal length (the last one of each file may be shorter). Immutable once
/// made; shared by the slots of a reader.
class RawIndex {
 public:
  struct Piece {
    const std::shared_ptr<const std::filesystem::path>& file;
    Extent extent;
  };

  /// Looks at the size of every file, reads nothing. `block_bytes`: length of an extent, a multiple of the element's
  /// size. Error with the path for a file that open_input() refuses or whose size is no multiple of the element's; of
  /// kind config for a block that is none.
  RawIndex(const std::vector<std::filesystem::path>& files, std::uint64_t block_bytes, DType dtype);

  /// Extents of all files; an empty file has none.
  std::uint64_t pieces() const { return pieces_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Length of the longest extent; 0 when there is none.
  std::uint64_t longest() const { return longest_; }
  std::size_t files() const { return files_.size(); }

  /// Extent number `index` (below pieces()), in order of files and offsets.
  Piece piece(std::uint64_t index) const;

 private:
  struct File {
    std::shared_ptr<const std::filesystem::path> path;
    std::uint64_t bytes;
    std::uint64_t first_piece;
  };

  std::uint64_t block_bytes_;
  std::vector<File> files_;
  std::uint64_t pieces_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t longest_ = 0;
};

}  // namespace millrace::io
