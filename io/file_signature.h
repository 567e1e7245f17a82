#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace millrace::io {

/// Bytes from the start of a file that are enough to tell any of the formats below.
inline constexpr std::size_t kSignatureBytes = 4096;

/// Name of a file format by the signature at its start: "HDF5", "POD5", "BLOW5", "SLOW5", "npy", "zip", "BGZF", "gzip",
/// "zstd", "lz4", "TIFF", "FITS", "NetCDF classic". Empty when it has none of them. `head`: the first kSignatureBytes,
/// or the whole of a shorter file. Sources: the formats' specifications.
std::string name_by_signature(std::span<const std::byte> head);

/// For a message that refuses a file: "; it starts like POD5", or nothing when it starts like none of them.
std::string but_it_starts_like(std::span<const std::byte> head);

}  // namespace millrace::io
