#pragma once

#include <cstdint>
#include <string>

namespace millrace {

/// What a reader or writer did, as the run report prints it. Integers with the unit in the name.
struct IoStats {
  std::string transport_requested;
  std::string transport_used;
  std::uint64_t calls = 0;  ///< system calls that moved data
  std::uint64_t bytes = 0;
  std::uint64_t retries = 0;  ///< calls repeated after a short count or EINTR
  std::uint64_t cache_hit_bytes = 0;
  std::uint64_t cache_miss_bytes = 0;
  std::uint64_t fsync_calls = 0;
  std::int64_t fsync_ns = 0;

  struct Advice {
    std::string kind = "none";
    std::string scope = "window";
    std::uint64_t window_bytes = 0;
    std::uint64_t step_bytes = 0;
    std::uint64_t calls = 0;
    std::uint64_t errors = 0;
    double resident_fraction = -1;  ///< negative: not measured
  } advice;
};

}  // namespace millrace
