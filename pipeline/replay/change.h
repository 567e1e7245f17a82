#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/replay/recorded_run.h"

namespace millrace {

/// One setting that a recorded run is replayed with.
struct Change {
  enum class What { slots, link_chunks, link_bytes, rate, cpu, wait, threads, cores };
  What what = What::slots;
  std::string stage;         ///< empty for threads and cores
  std::uint64_t number = 0;  ///< of slots, chunks, bytes, threads, cores
  double times = 1;          ///< of rate, cpu, wait: how many times as fast
  bool operator==(const Change&) const = default;
};

/// "decode.slots=4", "read.rate=2x", "encode.link.bytes=64 MiB", "pipeline.threads=8", "cores=16".
std::string text_of(const Change& change);
/// The same of several, separated by commas.
std::string text_of(const std::vector<Change>& changes);

/// Reads what text_of() gives: STAGE.slots=N, STAGE.link.chunks=N, STAGE.link.bytes=SIZE (the link into the stage),
/// STAGE.rate=Nx (all of its time), STAGE.cpu=Nx and STAGE.wait=Nx (that part of it), pipeline.threads=N, cores=N.
/// Error (kind config) for anything else, one setting given twice, and an empty text.
std::vector<Change> parse_changes(const std::string& text);

/// Makes the change. Error (kind config) for a stage that does not exist (with the nearest name), slots of a stage that
/// is not parallel, a link into a source.
void apply(RecordedRun& run, const Change& change);

/// The --set options that make the change in the config of the run (a JSON object as RunReport::config_json). None when
/// no key of it can: `why` then says so. rate and wait are a key where the stage has a throttle in its `via`.
std::vector<std::string> overrides_of(const Change& change, const std::string& config_json, std::string& why);

}  // namespace millrace
