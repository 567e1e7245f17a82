#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::io {

/// Decodes rows of POD5 signal in the coding "minknow.vbz": one zstd frame with a stream of stream_vbyte16.h in it.
/// Keeps one scratch buffer that grows to the largest row. One thread at a time. No checksum protects a row: damage
/// that leaves the stream well-formed is not found.
class Pod5VbzDecoder {
 public:
  Pod5VbzDecoder();
  Pod5VbzDecoder(const Pod5VbzDecoder&) = delete;
  Pod5VbzDecoder& operator=(const Pod5VbzDecoder&) = delete;
  ~Pod5VbzDecoder();

  /// Fills `samples` from one row. How many there are stands in another column of the file, not in the row. Error when
  /// the row is damaged or does not hold exactly that many; nothing is allocated before the sizes have been checked.
  void decode(std::span<const std::byte> row, std::span<std::int16_t> samples);

  std::uint64_t scratch_bytes() const { return scratch_.capacity(); }

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<std::byte> scratch_;
};

/// Encodes rows of POD5 signal. One thread at a time.
class Pod5VbzEncoder {
 public:
  /// `level`: of zstd; ONT's software uses 1.
  explicit Pod5VbzEncoder(int level = 1);
  Pod5VbzEncoder(const Pod5VbzEncoder&) = delete;
  Pod5VbzEncoder& operator=(const Pod5VbzEncoder&) = delete;
  ~Pod5VbzEncoder();

  /// One row as it goes into the file; valid until the next call. Error when there are 2^32 samples or more.
  std::span<const std::byte> encode(std::span<const std::int16_t> samples);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  int level_;
  std::vector<std::byte> stream_;
  std::vector<std::byte> row_;
};

}  // namespace millrace::io
