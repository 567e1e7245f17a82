#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/alignment_encoder.h"
#include "pipeline/core/stage.h"
#include "stages/basecalls.h"

namespace millrace {

/// What is known of a called read, as the optional fields of a SAM record. Those that Oxford Nanopore's basecaller
/// writes and downstream programs look for; source: dorado's documentation/SAM.md.
///
///     RG  read group: <run id>_<model>              st  when the read began, UTC, e.g. 2023-06-22T07:17:48.308+00:00
///     qs  mean quality                              rn  read number
///     du  length of the signal in seconds           fn  name of the file that it comes from, without directories
///     ns  length of the signal in samples           sm  centre of the signal in pA, that the caller took away
///     ts  samples left out at the start             sd  spread of the signal in pA, that the caller divided by
///     mx  mux     ch  channel                       sv  what sm and sd bring the signal to
///
/// sv is the attribute scaling_version; without one it is "pore_model": (pA - sm) / sd is in the unit of the levels of
/// the model that RG and DS name, and not of mean 0 and deviation 1 as after ONT's own scalings.
///
/// What is not known has no tag; neither has an integer that SAM cannot hold. Characters that a tag cannot hold become
/// '?'. One thread; keeps its memory from read to read.
class ReadTags {
 public:
  /// The tags of one read, valid until the next call.
  std::span<const io::SamTag> of(const Chunk& chunk, const Basecalls& calls);

 private:
  io::SamTag& next(const char* name, io::SamTag::Type type);
  void add_integer(const char* name, std::optional<std::int64_t> value);
  void add_number(const char* name, double value);
  void add_text(const char* name, std::string_view value);
  void add_times(const Attributes& attributes);
  void add_scaling(const Attributes& attributes);
  std::int64_t run_start_ms(std::string_view run_info);

  std::vector<io::SamTag> tags_;
  std::size_t count_ = 0;
  std::string run_info_;  // that run_start_ms_ was found in
  std::int64_t run_start_ms_ = 0;
  std::string scratch_;
};

/// The attribute read_id, which must be a name that FASTQ and SAM can hold: 1 to 254 printable ASCII characters,
/// neither a blank nor '@' (SAM specification 1.4). Error otherwise.
std::string_view read_name_of(const Attributes& attributes);

/// Name of the read group of a read: "<run_id>_<model>", without a model the run_id alone; empty without a run_id.
/// Characters that a tag cannot hold are '?'.
std::string read_group_of(const Attributes& attributes);

}  // namespace millrace
