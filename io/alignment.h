#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "io/file_descriptor.h"
#include "io/reader.h"
#include "pipeline/core/buffer.h"

namespace millrace::io {

/// What direct I/O on one file demands. Both are powers of two.
struct Alignment {
  std::uint64_t offset = 4096;  ///< of places and lengths in the file; 1 = any (no direct I/O)
  std::uint64_t memory = 4096;  ///< of addresses
  /// The file system said so. When not, it may go through the page cache without a word, whatever is asked of it.
  bool promised = false;

  /// For files that are not read or written directly.
  static constexpr Alignment none() { return {1, 1, true}; }
};

/// Asks statx(2) of an open file. `offset` is at least 4096: what is aligned for one device is then aligned for nearly
/// all. Where the file system says nothing, 4096 and 4096, not promised.
Alignment direct_alignment(const FileDescriptor& file);

/// Why `promised` is false: for probes and reports.
inline constexpr const char* kNotPromised = "direct I/O is not promised here: it may go through the page cache";

constexpr std::uint64_t round_down(std::uint64_t bytes, std::uint64_t step) { return bytes & ~(step - 1); }
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) { return round_down(bytes + step - 1, step); }

/// The smallest extent of whole blocks around `extent`. Its last block may lie partly beyond the end of the file.
constexpr Extent whole_blocks(Extent extent, std::uint64_t block) {
  const std::uint64_t begin = round_down(extent.offset, block);
  return {begin, round_up(extent.offset + extent.length, block) - begin};
}

/// What a loan for a direct read of an extent may need beyond the extent: nearly a block at both ends, and nearly as
/// much for the lender's memory to be aligned. (A device with larger blocks gets its memory outside the pool.)
inline constexpr std::uint64_t kDirectPadding = 3ULL * 4096;

/// A loan (call_context.h) of `bytes` bytes that begin at a multiple of `alignment`.
Buffer loan_aligned(std::size_t bytes, std::uint64_t alignment);

/// Switches O_DIRECT of an open file on or off. False with errno when the file system has no such thing.
bool set_direct(const FileDescriptor& file, bool on);

inline bool is_aligned(const std::byte* memory, std::uint64_t alignment) {
  return (reinterpret_cast<std::uintptr_t>(memory) & (alignment - 1)) == 0;
}

}  // namespace millrace::io
