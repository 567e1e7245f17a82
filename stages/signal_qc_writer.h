#pragma once

#include <optional>
#include <string>

#include "pipeline/core/stage.h"
#include "stages/file_sink.h"
#include "stages/signal_digest.h"
#include "stages/signal_level.h"

namespace millrace {

/// `signal_qc_writer`: proof of what was decoded, a TSV with one row per read in order. In: i16 "signal" with the
/// attribute read_id. The columns, with `columns = "basic"`, the default:
///
///     read_id  samples  sum  min  max  sha256_i16le
///
/// sum, min and max are of the raw samples (0 for a read without samples); sha256_i16le is the SHA-256 of the samples
/// as little-endian int16, which verify_signal holds reads against. `columns = "full"` adds what a lab looks at:
///
///     at_min at_max           samples that equal min or max: many = the converter was at its limit
///     mean_pa stdv_pa         mean and standard deviation (of the population) in pA
///     median_pa mad_pa        median and median distance from it, which spikes do not move, in pA
///     start_s duration_s      in seconds since the start of the run
///     channel mux end_reason run_id file
///
/// pA = (sample + offset) * range / digitisation. What is not known is an empty field. Tabs and control characters in a
/// text become blanks; in a read_id they are an Error.
class SignalQcWriter final : public FileSink {
 public:
  explicit SignalQcWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  std::uint64_t state_bytes() const override;

 private:
  struct Summary;

  void append_full(const Chunk& chunk, const Summary& summary);

  bool full_;
  std::optional<SignalHasher> hasher_;
  std::optional<SignalLevelFinder> level_;
  std::string row_;
};

}  // namespace millrace
