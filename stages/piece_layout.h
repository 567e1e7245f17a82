#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "io/piece_reader.h"
#include "pipeline/core/buffer.h"

namespace millrace {

/// How the pieces of one read become one chunk: in one go from the first to the last byte of them, or, when too much
/// else lies between them, one by one and copied together.
struct PieceLayout {
  io::Extent span;                     ///< from the first to the last byte in the file
  std::uint64_t bytes = 0;             ///< of the chunk
  std::vector<io::Extent> scattered;   ///< the pieces, when they are read one by one; else empty
  std::vector<std::uint64_t> offsets;  ///< of each piece in the chunk
};

/// `pieces` in the order in which they belong together, at least one; their order in the file is free.
PieceLayout lay_out(std::span<const io::Extent> pieces);

/// Reads scattered pieces of `file` one by one into one loaned buffer of `bytes` bytes; the copy is counted.
Buffer gather(io::PieceReader& reader, const std::filesystem::path& file, std::span<const io::Extent> pieces,
              std::uint64_t bytes);

}  // namespace millrace
