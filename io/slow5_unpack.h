#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/slow5_header.h"

namespace millrace::io {

/// Undoes the compression of BLOW5 records. Keeps its memory from call to call. One thread at a time.
class Slow5Unpacker {
 public:
  Slow5Unpacker();
  Slow5Unpacker(const Slow5Unpacker&) = delete;
  Slow5Unpacker& operator=(const Slow5Unpacker&) = delete;
  ~Slow5Unpacker();

  /// What a compressed record holds; `record` itself when it is not compressed, else valid until the next call, with
  /// kStreamVbytePadding readable bytes behind it. Error: damaged, or more than `max_bytes`; no more than twice that is
  /// ever allocated.
  std::span<const std::byte> unpack(std::span<const std::byte> record, Slow5Packing packing, std::uint64_t max_bytes);

  /// The first bytes of what a record holds, as far as its first bytes `front` tell and `wanted` asks; valid until the
  /// next call. Error when they are damaged.
  std::span<const std::byte> unpack_front(std::span<const std::byte> front, Slow5Packing packing, std::uint64_t wanted);

  /// Bytes that a record holds, where its first 18 bytes tell (zstd).
  static std::optional<std::uint64_t> unpacked_bytes(std::span<const std::byte> front, Slow5Packing packing);

 private:
  std::span<const std::byte> inflate(std::span<const std::byte> record, std::uint64_t max_bytes);
  std::span<const std::byte> decompress(std::span<const std::byte> record, std::uint64_t max_bytes);

  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
  std::vector<std::byte> unpacked_;
};

/// Most bytes that a record of `bytes` bytes can hold; what claims more is damaged.
std::uint64_t max_unpacked_bytes(std::uint64_t bytes, Slow5Packing packing);

}  // namespace millrace::io
