#include "io/raw_format.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "io/file_descriptor.h"
#include "pipeline/core/error.h"

namespace millrace::io {

RawIndex::RawIndex(const std::vector<std::filesystem::path>& files, std::uint64_t block_bytes, DType dtype)
    : block_bytes_(block_bytes) {
  const std::uint64_t width = millrace::size_of(dtype);
  if (block_bytes == 0 || block_bytes % width != 0) {
    throw config_error("a block of " + std::to_string(block_bytes) + " bytes is not a whole number of " +
                       std::string(name_of(dtype)));
  }
  files_.reserve(files.size());
  for (const auto& path : files) {
    const std::uint64_t bytes = size_of(open_input(path), path);
    if (bytes % width != 0) {
      throw Error("its " + std::to_string(bytes) + " bytes are not a whole number of " + std::string(name_of(dtype)) +
                  " (" + std::to_string(width) + " bytes each)")
          .at_path(path);
    }
    files_.push_back({std::make_shared<const std::filesystem::path>(path), bytes, pieces_});
    pieces_ += bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0);
    bytes_ += bytes;
    longest_ = std::max(longest_, std::min(bytes, block_bytes));
  }
}

RawIndex::Piece RawIndex::piece(std::uint64_t index) const {
  // Empty files share their first_piece with the next file, which is the one upper_bound leads to.
  const auto after = std::upper_bound(files_.begin(), files_.end(), index,
                                      [](std::uint64_t wanted, const File& file) { return wanted < file.first_piece; });
  const File& file = *std::prev(after);
  const std::uint64_t offset = (index - file.first_piece) * block_bytes_;
  return {file.path, {offset, std::min(block_bytes_, file.bytes - offset)}};
}

}  // namespace millrace::io
