#pragma once

#include <string>

#include "pipeline/report.h"

namespace millrace {

/// What the page cache had of the inputs of a run, and so what its read speed says about the device.
enum class CacheState {
  cold,        ///< at most 1 % was cached, and the device delivered what was read
  unverified,  ///< at most 1 % was cached; what came from the device cannot be counted, or is less than what was read
  warm,        ///< more was cached
  bypassed,    ///< more was cached, but the device delivered all the same: direct transfers
  memory,      ///< the inputs are on a file system in memory
  unknown,
};

/// "cold", "cold_unverified" and so on.
std::string name_of(CacheState state);

/// Pure: from CacheReport and what the sources read.
CacheState cache_state(const RunReport& report);

/// For people: "97 % warm: this run says nothing about your disk". Empty when the run read no files.
std::string cache_label(const RunReport& report);

}  // namespace millrace
