#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file_descriptor.h"

namespace millrace::io {

// Side-car files with one checksum per piece of a data file. Two layouts:
//
//   HDFS block .meta (Hadoop's BlockMetadataHeader and DataChecksum), big-endian:
//     u16 version = 1 | u8 type (0 none, 1 CRC32, 2 CRC32C) | u32 bytes per piece | u32 checksum of each piece
//   .crc32c, this project's, little-endian:
//     "MRCRC32C" | u32 version = 1 | u32 bytes per piece | u64 bytes of the data file | u32 CRC-32C of each piece
//
// The last piece of a data file may be shorter. HDFS does not store the length of the data.

enum class ChecksumKind { crc32, crc32c };

/// The checksum of one piece.
std::uint32_t checksum_of(ChecksumKind kind, std::span<const std::byte> piece);

/// A side-car open for reading. One thread at a time.
class ChecksumFile {
 public:
  /// Opens and checks it against the length of its data file. Error with the path: missing, neither of the layouts,
  /// type "none" or unknown, pieces of no bytes, too short or too long for the data.
  ChecksumFile(std::filesystem::path path, std::uint64_t data_bytes);

  ChecksumKind kind() const { return kind_; }
  std::uint64_t piece_bytes() const { return piece_bytes_; }
  std::uint64_t data_bytes() const { return data_bytes_; }
  const std::filesystem::path& path() const { return path_; }

  /// The checksums of pieces [first, first + count), into `sums`, whose memory is used again. Error with path and
  /// offset.
  void read(std::uint64_t first, std::uint64_t count, std::vector<std::uint32_t>& sums);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t data_bytes_;
  ChecksumKind kind_ = ChecksumKind::crc32c;
  bool big_endian_ = false;
  std::uint64_t piece_bytes_ = 0;
  std::uint64_t header_bytes_ = 0;
};

/// The side-car beside a data file: FILE.crc32c, else FILE.meta, else the one FILE_<number>.meta (HDFS). Nothing when
/// there is none; Error when there are several of the last kind.
std::optional<std::filesystem::path> find_checksum_file(const std::filesystem::path& data);

/// The head of a .crc32c file, for who writes one.
std::vector<std::byte> checksum_header(std::uint32_t piece_bytes, std::uint64_t data_bytes);

}  // namespace millrace::io
