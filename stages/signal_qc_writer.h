#pragma once

#include <array>
#include <memory>
#include <string>

#include "pipeline/core/stage.h"
#include "stages/file_sink.h"

namespace millrace {

/// Proof of what was decoded: a TSV with the header "read_id samples sum min max sha256_i16le" and one row per read in
/// order. sum, min and max are of the raw samples (0 for a read without samples); sha256_i16le is the SHA-256 of the
/// samples as little-endian int16. In: i16 "signal" with the attribute read_id.
class SignalQcWriter final : public FileSink {
 public:
  explicit SignalQcWriter(const Options& options);
  ~SignalQcWriter() override;

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;

 private:
  struct Hash;

  std::unique_ptr<Hash> hash_;
  std::string row_;
};

}  // namespace millrace
