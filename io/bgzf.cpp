#include "io/bgzf.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

/// As bgzip has it: even when nothing can be compressed, the block stays below 64 KiB.
constexpr std::size_t kContentsBytes = 0xff00;
constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::size_t kHeaderBytes = 18;
constexpr std::size_t kTrailerBytes = 8;
/// gzip with an extra field, no time, unknown system; the field BC of 2 bytes; then comes the length less 1.
constexpr std::array<std::uint8_t, 16> kHeader{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0};
/// What deflate makes of nothing.
constexpr std::array<std::uint8_t, 2> kNothing{3, 0};
constexpr std::size_t kStoredHeaderBytes = 5;
/// Tables of libdeflate's slowest level, rounded up.
constexpr std::uint64_t kCompressorBytes = 10 << 20;

void put_number(std::byte* at, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(number >> (8 * i));
}

/// Puts header and trailer around `deflated` bytes that stand behind the header; the length of the block.
std::size_t complete_block(std::span<std::byte> block, std::size_t deflated, std::span<const std::byte> contents) {
  const std::size_t length = kHeaderBytes + deflated + kTrailerBytes;
  std::memcpy(block.data(), kHeader.data(), kHeader.size());
  put_number(block.data() + kHeader.size(), length - 1, 2);
  std::byte* const trailer = block.data() + kHeaderBytes + deflated;
  put_number(trailer, libdeflate_crc32(0, contents.data(), contents.size()), 4);
  put_number(trailer + 4, contents.size(), 4);
  return length;
}

}  // namespace

BgzfWriter::BgzfWriter(OutputFile& output, int level)
    : output_(output), compressor_(libdeflate_alloc_compressor(level)), block_(kBlockBytes) {
  if (!compressor_) throw Error("no deflate encoder of level " + std::to_string(level));
  contents_.reserve(kContentsBytes);
}

BgzfWriter::~BgzfWriter() = default;

void BgzfWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kContentsBytes - contents_.size()));
    contents_.insert(contents_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (contents_.size() == kContentsBytes) write_block();
  }
}

void BgzfWriter::write_block() {
  const std::size_t deflated =
      libdeflate_deflate_compress(compressor_.get(), contents_.data(), contents_.size(), block_.data() + kHeaderBytes,
                                  kBlockBytes - kHeaderBytes - kTrailerBytes);
  if (deflated == 0) throw Error("libdeflate could not compress a block");
  output_.append(std::span(block_).first(complete_block(block_, deflated, contents_)));
  contents_.clear();
}

void BgzfWriter::finish() {
  if (!contents_.empty()) write_block();
  std::memcpy(block_.data() + kHeaderBytes, kNothing.data(), kNothing.size());
  output_.append(std::span(block_).first(complete_block(block_, kNothing.size(), {})));
}

std::uint64_t BgzfWriter::memory_bytes() { return kCompressorBytes + kContentsBytes + kBlockBytes; }

void BgzfWriter::Free::operator()(libdeflate_compressor* compressor) const { libdeflate_free_compressor(compressor); }

std::string bgzf_stored(std::string_view bytes) {
  std::string blocks;
  std::vector<std::byte> block(kBlockBytes);
  while (!bytes.empty()) {
    const auto part = std::as_bytes(std::span(bytes.substr(0, kContentsBytes)));
    bytes.remove_prefix(part.size());
    std::byte* const stored = block.data() + kHeaderBytes;
    put_number(stored, 1, 1);  // the last deflate block, not compressed
    put_number(stored + 1, part.size(), 2);
    put_number(stored + 3, ~part.size(), 2);
    std::memcpy(stored + kStoredHeaderBytes, part.data(), part.size());
    const std::size_t length = complete_block(block, kStoredHeaderBytes + part.size(), part);
    blocks.append(reinterpret_cast<const char*>(block.data()), length);
  }
  return blocks;
}

}  // namespace millrace::io
