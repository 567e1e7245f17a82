#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pipeline/core/stage.h"

namespace millrace {

// Chunks of content "basecalls": what a caller made of one read. u8, shape [2, bases]; 0 bases = no call.
//   row 0   the bases as the letters A C G T N in the order 5' to 3'; RNA is written with T too
//   row 1   the Phred quality of each as a number 0 to 93 (no ASCII)
// The attributes and the origin of the read are kept. The caller adds mean_quality (number: Phred of the mean error
// probability, 0 without bases), scaling_shift and scaling_scale (numbers in ADC counts: normalised = (adc - shift) /
// scale), trimmed_samples (integer: samples left out at the start) and model (text: name of the pore model).

inline constexpr std::string_view kBasecalls = "basecalls";
/// Largest quality that FASTQ and SAM can write ('~').
inline constexpr std::uint8_t kMaxQuality = 93;

/// A view of such a chunk; the chunk must outlive it. Both parts are equally long.
struct Basecalls {
  std::string_view bases;
  std::span<const std::uint8_t> qualities;
};

/// The calls in `chunk`, checked. Error when its type or shape is another, or when there is a letter beside ACGTN or a
/// quality above 93; it names the place.
Basecalls basecalls_of(const Chunk& chunk);

/// The mean quality of a read: its attribute mean_quality, else the Phred of the mean error probability; 0 without
/// bases.
double mean_quality_of(const Attributes& attributes, const Basecalls& calls);

/// What a stage that makes calls gives from prepare(), `max_bases` being the most bases of one read.
ChunkType basecalls_type(std::uint64_t max_bases);

}  // namespace millrace
