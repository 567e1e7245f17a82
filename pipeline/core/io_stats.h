#pragma once

#include <cstdint>
#include <string>

namespace millrace {

/// What a reader or writer did, as the run report prints it. Integers with the unit in the name.
struct IoStats {
  std::string transport_requested;
  std::string transport_used;
  std::string detail;       ///< how it ran, one clause: "8 reads in flight, 8 of 8 buffers registered"; may be empty
  std::uint64_t calls = 0;  ///< system calls or ring requests that moved data
  std::uint64_t bytes = 0;
  std::uint64_t retries = 0;           ///< calls repeated after a short count or EINTR
  std::uint64_t registered_calls = 0;  ///< of calls, those on buffers that io_uring knows by number
  std::uint64_t cache_hit_bytes = 0;
  std::uint64_t cache_miss_bytes = 0;
  std::uint64_t dropped_cache_bytes = 0;  ///< the page cache was told to forget them behind the stream (drop_behind)
  std::uint64_t drop_errors = 0;
  std::uint64_t fsync_calls = 0;
  std::int64_t fsync_ns = 0;

  struct Advice {
    std::string kind = "none";
    std::string scope = "window";
    std::uint64_t window_bytes = 0;
    std::uint64_t step_bytes = 0;
    std::uint64_t calls = 0;
    std::uint64_t errors = 0;
    std::uint64_t checked_bytes = 0;   ///< looked at in the page cache when they were about to be read
    std::uint64_t resident_bytes = 0;  ///< of them, those that were there

    /// Share of the checked bytes that were in the page cache in time; negative: nothing was checked.
    double resident_fraction() const {
      return checked_bytes == 0 ? -1 : static_cast<double>(resident_bytes) / static_cast<double>(checked_bytes);
    }
  } advice;

  /// Adds the counts of `more`; the texts stay, but for those that are empty here.
  void add(const IoStats& more);
};

}  // namespace millrace
