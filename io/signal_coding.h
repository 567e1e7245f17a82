#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/pod5_vbz.h"
#include "io/vbz.h"

namespace millrace::io {

/// One step of how int16 samples were encoded.
struct SignalFilter {
  enum class Kind { deflate, shuffle, fletcher32, vbz, pod5_vbz };
  Kind kind = Kind::deflate;
  Vbz vbz;  ///< used with Kind::vbz
  bool operator==(const SignalFilter&) const = default;
};

/// The steps in the order of encoding; none = the samples as they are, little-endian.
using SignalCoding = std::vector<SignalFilter>;

/// "none", or the steps joined by "+": "deflate", "shuffle+deflate+fletcher32", "vbz:1,2,1,1" (VBZ of FAST5: version,
/// integer size, zig-zag delta, zstd level), "pod5-vbz" (of POD5, another format). This is what the attribute "coding"
/// of a chunk says.
std::string text_of(const SignalCoding& coding);
/// The reverse. Error when the text is none of these.
SignalCoding parse_signal_coding(std::string_view text);

/// Most samples that `encoded_bytes` bytes can stand for; what claims more is damaged.
std::uint64_t max_samples(const SignalCoding& coding, std::uint64_t encoded_bytes);

/// Decodes pieces of encoded signal. Keeps its scratch memory from call to call. One thread at a time.
class SignalDecoder {
 public:
  SignalDecoder();
  SignalDecoder(const SignalDecoder&) = delete;
  SignalDecoder& operator=(const SignalDecoder&) = delete;
  ~SignalDecoder();

  /// Fills `samples` from one piece. Bit i of `filter_mask` says that step i was not applied to it. Error when the
  /// piece is damaged or does not hold exactly that many samples.
  void decode(std::span<const std::byte> piece, const SignalCoding& coding, std::uint32_t filter_mask,
              std::span<std::int16_t> samples);

  /// The same for a piece that may hold fewer samples: fills the front of `samples` and returns how many there were.
  /// (Chunks at the end of a dataset are as long as all others, but some writers store only what has a meaning.)
  std::uint64_t decode_up_to(std::span<const std::byte> piece, const SignalCoding& coding, std::uint32_t filter_mask,
                             std::span<std::int16_t> samples);

  std::uint64_t scratch_bytes() const;

 private:
  std::span<const std::byte> undo(const SignalFilter& filter, std::span<const std::byte> input,
                                  std::span<std::byte> output);

  struct Inflater;
  std::unique_ptr<Inflater> inflater_;
  VbzDecoder vbz_;
  Pod5VbzDecoder pod5_vbz_;
  std::array<std::vector<std::byte>, 2> scratch_;
};

}  // namespace millrace::io
