#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/core/stage.h"
#include "stages/signal_level.h"

namespace millrace {

/// `normalize`: brings the signal of every read to one scale that outliers do not move.
///
/// In: "signal", i16, one read per chunk. Out: "signal", f32, same shape,
///
///     y = (x - median) / (1.4826 * MAD),   MAD = median(|x - median|)
///
/// over the samples of the chunk. 1.4826 makes it the standard deviation of normally distributed samples. Median and
/// MAD are exact (an even number of samples has the mean of the middle two); y is within 2 units in the last place of
/// the formula's value. An empty read gives an empty read.
///
/// A MAD of 0 (more than half of the samples are one value) has no scale. `flat_read = "center"`, the default, then
/// only subtracts the median, as if the scale were 1; `flat_read = "error"` ends the run.
///
/// O(samples + range of values) by a histogram that the instance keeps; nothing is allocated per chunk. For that
/// reason shift and scale are not added to the attributes either: a set of attributes is immutable and shared, so
/// every chunk would need a new one. Whoever needs them has them from the samples before this stage.
class Normalize final : public Transform {
 public:
  explicit Normalize(const Options& options);

  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  bool parallel() const override { return true; }
  std::uint64_t state_bytes() const override;

 private:
  bool flat_read_is_error_ = false;
  std::optional<SignalLevelFinder> level_;
};

}  // namespace millrace
