#include "stages/checksum_writer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "io/checksum_file.h"
#include "io/crc32c.h"

namespace millrace {

ChecksumWriter::ChecksumWriter(const Options& options)
    : FileSink(options, "side-car to write, named FILE.crc32c after the data's file") {
  const std::uint64_t piece = options.get<Bytes>("piece", Bytes{4096}, "bytes that one checksum covers").count;
  if (piece == 0 || piece > std::numeric_limits<std::uint32_t>::max()) {
    throw options.error_at("piece", "'piece' must be between 1 B and 4 GiB - 1 B");
  }
  piece_bytes_ = static_cast<std::uint32_t>(piece);
}

void ChecksumWriter::prepare(const ChunkType& /*input*/) { open(); }

void ChecksumWriter::consume(Chunk chunk) {
  if (output().size() == 0) output().append(io::checksum_header(piece_bytes_, 0));  // the length is known at the end
  std::span<const std::byte> rest = chunk.bytes();
  while (!rest.empty()) {
    const auto part = rest.first(std::min<std::size_t>(rest.size(), piece_bytes_ - sum_bytes_));
    rest = rest.subspan(part.size());
    sum_ = io::crc32c(part, sum_);
    sum_bytes_ += static_cast<std::uint32_t>(part.size());
    if (sum_bytes_ == piece_bytes_) end_piece();
  }
  bytes_ += chunk.size_bytes();
}

void ChecksumWriter::end_piece() {
  std::array<std::byte, sizeof(sum_)> stored{};
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::byte>(sum_ >> (8 * i));
  output().append(stored);
  sum_ = 0;
  sum_bytes_ = 0;
}

void ChecksumWriter::complete() {
  if (sum_bytes_ != 0) end_piece();
  const auto header = io::checksum_header(piece_bytes_, bytes_);
  if (output().size() == 0) {
    output().append(header);
  } else {
    output().overwrite(0, header);
  }
}

}  // namespace millrace
