#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/core/stage.h"
#include "stages/event_detector.h"

namespace millrace {

/// `detect_events`: cuts the signal of every read into events, stretches of one level.
///
/// In: "signal", i16 or f32, one read per chunk. Out: "events", f32, shape [n, 3]: length in samples, mean, standard
/// deviation (both in units of the input). The events tile the read: event k starts where the lengths before it add up
/// to. Starts are not stored because a float counts exactly to 2^24 only; lengths are cut there (event_detector.h). An
/// empty read gives no events, a read without a boundary one.
///
/// `preset` names a set of numbers by the speed of the strand: "r9_450bps" (DNA R9.4, scrappie's defaults, about 5
/// samples per event), "rna_130bps" (RNA004), "rna_70bps" (RNA002), as in UNCALLED4; each number can be set by itself.
/// The statistic does not depend on offset and scale of the signal, so raw and normalized signals have the same
/// boundaries, but for what f32 cannot tell apart.
class DetectEvents final : public Transform {
 public:
  explicit DetectEvents(const Options& options);

  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  bool parallel() const override { return true; }
  std::uint64_t state_bytes() const override { return detector_.state_bytes(); }

 private:
  EventDetector detector_;
};

}  // namespace millrace
