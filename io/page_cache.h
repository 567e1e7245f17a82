#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "io/reader.h"

namespace millrace::io {

// What the kernel's page cache holds of files, asked without reading anything (linux_io section c1): by cachestat(2),
// and by mincore(2) where that is missing, forbidden, or wrong (overlayfs).

/// Bytes of `extent` in the page cache now, by whole pages. Pages whose read is still in flight count with cachestat
/// and do not with mincore: they are as good as there for whoever waits for them, not for whoever wants them now.
/// Nothing when it cannot be known: no descriptor of a regular file, or a file of somebody else that may not be
/// written, for which Linux answers "all of it" whatever is true. About 0.3 us per MiB; with mincore 10 us.
std::optional<std::uint64_t> resident_in(int descriptor, Extent extent);

/// True when resident_in() has to use mincore for this file.
bool is_slow_to_ask(int descriptor);

/// The same for a whole file. Nothing also when it cannot be opened.
std::optional<std::uint64_t> resident_bytes(const std::filesystem::path& file);

/// What can be said of a file before it is read.
struct Residency {
  enum class State {
    cold,     ///< at most 1 % of it is in the page cache
    warm,     ///< more than that
    unknown,  ///< the kernel does not tell
    memory,   ///< the file system has no device (tmpfs): the question makes no sense
  };
  State state = State::unknown;
  std::uint64_t file_bytes = 0;
  std::optional<std::uint64_t> resident_bytes;
};

/// A file that cannot be opened is unknown. An empty one is cold.
Residency residency_of(const std::filesystem::path& file);

/// Makes the page cache forget a file: forces it to the device, then asks again until nothing is left or asking again
/// changes nothing. Needs no rights beyond reading. Gives the bytes that stay (of a file mapped somewhere, on a file
/// system in memory, or of a slow device); nothing when that cannot be known. Error with the path when the file cannot
/// be opened or written back.
std::optional<std::uint64_t> evict(const std::filesystem::path& file);

}  // namespace millrace::io
