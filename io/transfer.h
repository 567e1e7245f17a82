#pragma once

#include <cerrno>
#include <cstdint>

#include "pipeline/core/io_stats.h"

namespace millrace::io {

/// How far a transfer came. Complete when `done` is what was asked for; else `error_number` says why it ended, 0 = the
/// call moved nothing without an error (end of file when reading).
struct Transfer {
  std::uint64_t done = 0;
  int error_number = 0;
};

/// Linux moves at most this many bytes in one read or write (man 2 read).
inline constexpr std::uint64_t kMaxCallBytes = 0x7ffff000;

/// Moves `bytes` bytes by calling `call(done, at most)` until all are moved: it returns what read(2) and write(2) do,
/// with errno. Short counts and EINTR are continued and counted as retries in `stats`, as are calls and bytes.
template <typename Call>
Transfer transfer_all(std::uint64_t bytes, IoStats& stats, Call&& call) {
  Transfer transfer;
  while (transfer.done < bytes) {
    const std::uint64_t left = bytes - transfer.done;
    const auto moved = call(transfer.done, left < kMaxCallBytes ? left : kMaxCallBytes);
    ++stats.calls;
    if (moved < 0) {
      if (errno == EINTR) {
        ++stats.retries;
        continue;
      }
      transfer.error_number = errno;
      return transfer;
    }
    if (moved == 0) return transfer;
    transfer.done += static_cast<std::uint64_t>(moved);
    stats.bytes += static_cast<std::uint64_t>(moved);
    if (transfer.done < bytes) ++stats.retries;
  }
  return transfer;
}

}  // namespace millrace::io
