#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checksum_file.h"
#include "pipeline/core/stage.h"

namespace millrace {

/// `verify_crc32c`: holds the bytes of every chunk against the checksums of its file's side-car (io/checksum_file.h),
/// in the memory where they are, and passes the chunk on as it is: nothing is copied.
///
/// In: chunks that are the bytes of a file as they stand there (raw_reader), starting at a whole piece and ending at
/// one or at the end of the file; Error (kind config) for others, which says what block the reader should have. A
/// side-car with CRC32 (HDFS type 1) is checked as well.
///
/// `on_mismatch`: "fail" (the run ends with file, offset, expected and found), "skip" (the chunk is refused and counted
/// as dropped) or "count" (it goes on). The first mismatches are in the report with both sums.
class VerifyCrc32c final : public Transform {
 public:
  explicit VerifyCrc32c(const Options& options);

  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  bool parallel() const override { return true; }
  std::uint64_t state_bytes() const override;
  std::vector<std::string> plan_notes() const override;
  Findings findings() const override;

 private:
  enum class OnMismatch { fail, skip, count };

  io::ChecksumFile& side_car_of(const std::filesystem::path& file);
  std::uint64_t verify(const Chunk& chunk, io::ChecksumFile& side_car);
  void note_mismatch(const Origin& origin, std::uint64_t offset, std::uint32_t expected, std::uint32_t found);

  OnMismatch on_mismatch_ = OnMismatch::fail;
  std::optional<std::filesystem::path> named_;  // the side-car, when the config names it
  std::uint64_t max_chunk_bytes_ = 0;
  std::optional<io::ChecksumFile> side_car_;
  std::filesystem::path data_;  // that side_car_ is for
  std::vector<std::uint32_t> sums_;
  std::uint64_t pieces_ = 0;
  std::uint64_t mismatches_ = 0;
  std::uint64_t refused_chunks_ = 0;
  std::vector<std::string> first_mismatches_;
};

}  // namespace millrace
