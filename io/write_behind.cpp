#include "io/write_behind.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "io/alignment.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargestFolio = 2ULL << 20;

bool means_unsupported(int error_number) {
  return error_number == ESPIPE || error_number == ENOSYS || error_number == EINVAL || error_number == EOPNOTSUPP;
}

}  // namespace

std::optional<WriteBehind::Failure> WriteBehind::wrote(int file, std::uint64_t end, IoStats& stats) {
  if (window_bytes_ == 0 || end < started_ + window_bytes_) return std::nullopt;
  const std::uint64_t whole = round_down(end, kPage);  // the last page is likely to be written again
  if (whole <= started_) return std::nullopt;
  if (auto failed = start(file, started_, whole, SYNC_FILE_RANGE_WRITE)) return failed;
  if (drop_behind_ && started_ > waited_) {
    constexpr unsigned kUntilThere = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (auto failed = start(file, waited_, started_, kUntilThere)) return failed;
    waited_ = started_;
    drop(file, round_down(waited_, kLargestFolio), stats);
  }
  started_ = whole;
  return std::nullopt;
}

void WriteBehind::synced(int file, std::uint64_t end, IoStats& stats) {
  if (drop_behind_) drop(file, end, stats);
}

std::optional<WriteBehind::Failure> WriteBehind::start(int file, std::uint64_t begin, std::uint64_t end,
                                                       unsigned flags) {
  while (::sync_file_range(file, static_cast<off_t>(begin), static_cast<off_t>(end - begin), flags) != 0) {
    if (errno == EINTR) continue;
    if (!means_unsupported(errno)) return Failure{errno, begin};
    refusal_ = system_error("no write-behind here", errno).message();
    window_bytes_ = 0;
    break;
  }
  return std::nullopt;
}

void WriteBehind::drop(int file, std::uint64_t end, IoStats& stats) {
  if (end <= dropped_) return;
  // The end of the file may be in the middle of a page, which then goes too.
  const int result =
      ::posix_fadvise(file, static_cast<off_t>(dropped_), static_cast<off_t>(end - dropped_), POSIX_FADV_DONTNEED);
  if (result == 0) {
    if (end > counted_) stats.dropped_cache_bytes += end - counted_;
    counted_ = std::max(counted_, end);
  } else {
    ++stats.drop_errors;
  }
  dropped_ = round_down(end, kLargestFolio);  // a folio at the end that goes on growing must be dropped again
}

}  // namespace millrace::io
