#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace millrace::io {

/// Bytes of `file` that lie in the page cache now, by mincore(2), in whole pages cut at the end of the file; reads
/// nothing. Nothing when it cannot be known: the file cannot be opened or mapped, or it belongs to somebody else and
/// may not be written, for which Linux answers "all of it" whatever is true (linux_io section c1).
std::optional<std::uint64_t> resident_bytes(const std::filesystem::path& file);

}  // namespace millrace::io
