#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/core/stage.h"

namespace millrace {

/// Lasts a known time per chunk and hands it on untouched: the stage that calibrates the ledger. `busy` burns CPU,
/// `sleep` waits off the CPU; every `burst_every`-th chunk takes `burst_busy` and `burst_sleep` longer. `busy` and
/// `sleep` are multiplied by a number drawn for the chunk, with mean 1: `spread = "even"` between (1 - jitter) and
/// (1 + jitter), "exponential" (minus the logarithm of a uniform number), "heavy" a Pareto law of exponent 2.5, whose
/// one chunk in a thousand takes ten times the mean and more. None goes above 20. What chunk k takes depends on the
/// seed and k alone.
///
/// Calibration exception to "a stage knows no clock".
class Spin final : public Transform {
 public:
  explicit Spin(const Options& options);

  bool parallel() const override { return true; }
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override;

  /// What a chunk takes.
  struct Service {
    Duration busy;
    Duration sleep;
  };
  Service service(std::uint64_t sequence) const;

 private:
  Duration busy_;
  Duration sleep_;
  enum class Spread { even, exponential, heavy };
  double factor(std::uint64_t sequence) const;

  double jitter_;
  Spread spread_ = Spread::even;
  std::uint64_t burst_every_;
  Duration burst_busy_;
  Duration burst_sleep_;
  std::uint64_t seed_;
};

}  // namespace millrace
