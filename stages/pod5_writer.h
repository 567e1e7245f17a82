#pragma once

#include <cstdint>
#include <optional>

#include "io/pod5_writer.h"
#include "pipeline/core/stage.h"
#include "stages/file_sink.h"

namespace millrace {

/// Reads -> one POD5 file (tables of version 4), reads in the order of the stream. In: i16 "signal" with the attribute
/// read_id, a UUID, and whatever io::Pod5Writer makes use of. The signal is written as it comes; what is known of the
/// reads, about 150 bytes each, stays in memory until the end.
class Pod5Writer final : public FileSink {
 public:
  explicit Pod5Writer(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  std::uint64_t state_bytes() const override;

 private:
  void complete() override;

  io::Pod5Writer::Settings settings_;
  std::uint64_t max_samples_ = 0;
  std::optional<io::Pod5Writer> writer_;
};

}  // namespace millrace
