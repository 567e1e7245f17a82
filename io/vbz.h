#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace::io {

/// Parameters of the HDF5 filter 32020 (VBZ of Oxford Nanopore), in the order of its cd_values. Source:
/// nanoporetech/vbz_compression; what is accepted here was checked against libvbz 1.0.2.
struct Vbz {
  static constexpr std::uint32_t kFilterId = 32020;

  std::uint32_t version = 1;       ///< 0 or 1; they differ for 1-byte integers only
  std::uint32_t integer_size = 2;  ///< 2 or 4 bytes of StreamVByte, 0 = none
  bool zigzag_delta = true;
  std::uint32_t level = 1;  ///< of zstd; 0 = none

  /// From the cd_values stored in a file; values beyond the fourth are ignored, a missing level is 1. Error for what
  /// this decoder cannot vouch for (1-byte integers, unknown versions, fewer than three values).
  static Vbz from_filter_values(std::span<const std::uint32_t> values);
  std::vector<std::uint32_t> filter_values() const;
  bool operator==(const Vbz&) const = default;
};

/// Decodes VBZ chunks into int16 samples. Keeps one scratch buffer that grows to the largest chunk, so that calls
/// allocate nothing after the first ones. One thread at a time. No checksum protects a VBZ chunk: damage that keeps
/// the stream well-formed is not found.
class VbzDecoder {
 public:
  VbzDecoder();
  VbzDecoder(const VbzDecoder&) = delete;
  VbzDecoder& operator=(const VbzDecoder&) = delete;
  ~VbzDecoder();

  /// Samples that a chunk says it holds; nothing is checked yet. Error when it has no header.
  static std::uint64_t samples_in(std::span<const std::byte> chunk);

  /// Fills `samples` from one chunk as it stands in the file. Error when the chunk does not hold exactly as many bytes
  /// as `samples`, or is damaged; nothing is allocated before the sizes have been checked.
  void decode(std::span<const std::byte> chunk, const Vbz& vbz, std::span<std::int16_t> samples);

  std::uint64_t scratch_bytes() const { return scratch_.capacity(); }

 private:
  std::span<const std::byte> unpack(std::span<const std::byte> body, const Vbz& vbz, std::uint64_t max_bytes);

  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<std::byte> scratch_;
};

/// Encodes int16 samples as VBZ with 2-byte integers and zig-zag delta. One thread at a time.
class VbzEncoder {
 public:
  explicit VbzEncoder(std::uint32_t level = 1);
  VbzEncoder(const VbzEncoder&) = delete;
  VbzEncoder& operator=(const VbzEncoder&) = delete;
  ~VbzEncoder();

  /// One chunk as it goes into the file; valid until the next call. Error when there are 2^31 samples or more.
  std::span<const std::byte> encode(std::span<const std::int16_t> samples);

  const Vbz& parameters() const { return vbz_; }

 private:
  struct Context;
  Vbz vbz_;
  std::unique_ptr<Context> context_;
  std::vector<std::byte> stream_;
  std::vector<std::byte> chunk_;
};

}  // namespace millrace::io
