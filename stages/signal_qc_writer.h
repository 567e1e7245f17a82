#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/open_file.h"
#include "io/output_file.h"
#include "pipeline/core/stage.h"

namespace millrace {

/// Proof of what was decoded: a TSV with the header "read_id samples sum min max sha256_i16le" and one row per read in
/// order. sum, min and max are of the raw samples (0 for a read without samples); sha256_i16le is the SHA-256 of the
/// samples as little-endian int16. In: i16 "signal" with the attribute read_id.
class SignalQcWriter final : public Sink {
 public:
  explicit SignalQcWriter(const Options& options);
  ~SignalQcWriter() override;

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  void finish(End end) override;
  void abandon() noexcept override;
  std::vector<Output> outputs() const override;

  std::uint64_t state_bytes() const override { return output_ ? output_->state_bytes() : 0; }
  std::optional<IoStats> io_stats() const override;

 private:
  struct Hash;

  std::filesystem::path path_;
  io::WriteVia via_;
  std::optional<io::OutputFile> output_;
  std::unique_ptr<Hash> hash_;
  std::string row_;
};

}  // namespace millrace
