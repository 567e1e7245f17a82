#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/vector_code.h"

namespace millrace::io {

// StreamVByte with 2-bit keys (Lemire, Kurz, Rupp 2018) over zig-zagged differences, as the VBZ filter of FAST5 and
// svb-zd of BLOW5 use it: ceil(n / 4) key bytes, then the data bytes. Key i is bits 2 (i % 4) of key byte i / 4 and is
// the value's byte count minus 1; unused key bits are 0.

/// Bytes that must be readable after the end of a stream given to decode_* and writable after the end of what encode_*
/// produces: the codec moves whole words.
inline constexpr std::size_t kStreamVbytePadding = 16;

/// Most bytes that `count` values can take.
constexpr std::uint64_t stream_vbyte_max_bytes(std::uint64_t count) { return (count + 3) / 4 + 4 * count; }

/// Bytes that the stream of `count` values really takes, told by its keys; nothing when `stream` is shorter than its
/// keys. A stream may be decoded only when this equals its size. Reads nothing outside `stream`.
std::optional<std::uint64_t> stream_vbyte_bytes(std::span<const std::byte> stream, std::uint64_t count);

/// Whether the values are differences from the previous value (the first from 0), zig-zagged, or are as they are.
enum class ValueCoding { plain, zigzag_delta };

/// Decodes samples.size() values, each cut to its low 16 bits. The stream's size must have been checked with
/// stream_vbyte_bytes(), and kStreamVbytePadding bytes after it must be readable. `code` must be one that the machine
/// can run.
void decode_stream_vbyte(const std::byte* stream, ValueCoding coding, std::span<std::int16_t> samples,
                         VectorCode code = fastest_vector_code());
/// The same for 32-bit values; `values` needs no alignment of its own (4 bytes each, little-endian).
void decode_stream_vbyte_wide(const std::byte* stream, ValueCoding coding, std::byte* values, std::uint64_t count);

/// Encodes samples as zig-zagged differences that wrap in 16 bits (what libvbz 1.0.2 writes and, on x86, the only thing
/// it reads; decode_stream_vbyte also reads differences taken in 32 bits) and returns the bytes written. `stream` must
/// have room for stream_vbyte_max_bytes(samples.size()) + kStreamVbytePadding bytes.
std::uint64_t encode_stream_vbyte(std::span<const std::int16_t> samples, std::byte* stream);

}  // namespace millrace::io
