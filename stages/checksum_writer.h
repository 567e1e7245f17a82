#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/open_file.h"
#include "io/output_file.h"
#include "pipeline/core/stage.h"

namespace millrace {

/// `checksum_writer`: writes the CRC-32C of every piece of the bytes that flow by to a .crc32c side-car
/// (io/checksum_file.h), which verify_crc32c reads. It is a second reader of the stage whose output a raw_writer stores
/// (fan-out), shares its buffers and copies nothing. A sink and no transform, because only sinks are told whether the
/// stream came to its end: the side-car of an interrupted run gets the name of a partial file, like its data.
///
/// In: any chunks; their bytes count, one after the other.
class ChecksumWriter final : public Sink {
 public:
  explicit ChecksumWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  void finish(End end) override;
  void abandon() noexcept override;
  std::vector<Output> outputs() const override;

  std::uint64_t state_bytes() const override { return output_ ? output_->state_bytes() : 0; }
  BufferNeeds buffer_needs() const override { return output_ ? output_->buffer_needs() : BufferNeeds{}; }
  std::optional<IoStats> io_stats() const override;
  std::vector<std::string> plan_notes() const override;

 private:
  void end_piece();

  std::filesystem::path path_;
  io::WriteVia via_;
  std::uint32_t piece_bytes_;
  std::optional<io::OutputFile> output_;  // from prepare() on
  std::uint64_t bytes_ = 0;
  std::uint32_t sum_ = 0;        // of the piece under way
  std::uint32_t sum_bytes_ = 0;  // bytes in it
};

}  // namespace millrace
