#pragma once

#include <cstdint>

#include "pipeline/core/stage.h"
#include "stages/file_sink.h"

namespace millrace {

/// `checksum_writer`: writes the CRC-32C of every piece of the bytes that flow by to a .crc32c side-car
/// (io/checksum_file.h), which verify_crc32c reads. It is a second reader of the stage whose output a raw_writer stores
/// (fan-out), shares its buffers and copies nothing. A sink and no transform, because only sinks are told whether the
/// stream came to its end: the side-car of an interrupted run gets the name of a partial file, like its data.
///
/// In: any chunks; their bytes count, one after the other.
class ChecksumWriter final : public FileSink {
 public:
  explicit ChecksumWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;

 private:
  void complete() override;
  void end_piece();

  std::uint32_t piece_bytes_;
  std::uint64_t bytes_ = 0;
  std::uint32_t sum_ = 0;        // of the piece under way
  std::uint32_t sum_bytes_ = 0;  // bytes in it
};

}  // namespace millrace
