#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/core/stage.h"

namespace millrace {

/// Chunks made from a seed: chunk k is the same in every run and whatever slot makes it. Unpaced it is as fast as the
/// memory; with `rate` or `interval` it keeps the pace of an instrument, by absolute deadlines from its first chunk on,
/// so that a delay is made up for and the mean rate holds. With `burst = n` the pace is kept in groups of n.
///
/// Calibration exception to "a stage knows no clock": the pace and `busy` are what it is for.
class SyntheticReader final : public Source {
 public:
  explicit SyntheticReader(const Options& options);

  /// A pace belongs to one instance.
  bool parallel() const override { return period_.count() == 0; }
  ChunkType prepare() override;
  std::optional<Chunk> produce(std::uint64_t index) override;
  std::optional<std::uint64_t> total_chunks() const override { return chunks_; }
  std::optional<std::uint64_t> total_bytes() const override { return chunks_ * chunk_bytes_; }
  std::vector<std::string> plan_notes() const override;

  enum class Fill { random, ramp, zeros };

 private:
  bool wait_for_turn(std::uint64_t index);

  std::uint64_t chunks_;
  std::uint64_t chunk_bytes_;
  DType dtype_;
  std::string content_;
  Fill fill_ = Fill::random;
  std::uint64_t seed_;
  Duration busy_;
  Duration period_{0};  // between two chunks in the mean; 0 = unpaced
  std::uint64_t burst_;
  std::optional<std::int64_t> origin_ns_;  // when the first chunk was due
};

}  // namespace millrace
