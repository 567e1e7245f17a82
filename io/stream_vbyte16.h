#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/vector_code.h"

namespace millrace::io {

// StreamVByte with 1-bit keys over zig-zagged 16-bit differences, as POD5 stores signal: ceil(n / 8) key bytes, then
// the data bytes. Key i is bit i % 8 of key byte i / 8: 0 = the value has one byte, 1 = two, low byte first; unused key
// bits are 0. The first difference is from 0; differences wrap. (The coding of FAST5 and BLOW5 is another:
// stream_vbyte.h.)

/// Bytes that must be readable after the end of a stream to decode, and writable after what is encoded.
inline constexpr std::size_t kStreamVbyte16Padding = 16;

/// Most bytes that `count` samples can take.
constexpr std::uint64_t stream_vbyte16_max_bytes(std::uint64_t count) {
  return count / 8 + (count % 8 != 0 ? 1 : 0) + 2 * count;
}

/// Bytes that the stream of `count` samples really takes, told by its keys; nothing when `stream` is shorter than its
/// keys. A stream may be decoded only when this equals its size. Reads nothing outside `stream`.
std::optional<std::uint64_t> stream_vbyte16_bytes(std::span<const std::byte> stream, std::uint64_t count);

/// Decodes samples.size() samples. The stream's size must have been checked with stream_vbyte16_bytes(), and
/// kStreamVbyte16Padding bytes after it must be readable. `code` must be one that the machine can run.
void decode_stream_vbyte16(const std::byte* stream, std::span<std::int16_t> samples,
                           VectorCode code = fastest_vector_code());

/// Encodes samples and returns the bytes written. `stream` must have room for stream_vbyte16_max_bytes(samples.size())
/// + kStreamVbyte16Padding bytes.
std::uint64_t encode_stream_vbyte16(std::span<const std::int16_t> samples, std::byte* stream);

}  // namespace millrace::io
