// VBZ chunks of any content. Input: byte 0 = integer size (low 2 bits: 0, 2, 4, 1), bit 2 no zig-zag delta, bit 3 zstd,
// bit 4 version 1, bit 5 the chunk's own size field is kept (else the right one is put in); bytes 1 and 2 = samples;
// the rest is the chunk.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "io/vbz.h"
#include "pipeline/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 7) return 0;
  constexpr std::array<std::uint32_t, 4> kSizes{0, 2, 4, 1};
  const std::uint8_t flags = data[0];
  const std::vector<std::uint32_t> values{(flags >> 4U) & 1U, kSizes[flags & 3U], (flags & 4U) == 0 ? 1U : 0U,
                                          (flags >> 3U) & 1U};
  std::uint16_t count = 0;
  std::memcpy(&count, data + 1, sizeof count);
  std::vector<std::byte> chunk(size - 3);
  std::memcpy(chunk.data(), data + 3, chunk.size());
  if ((flags & 32U) == 0) {
    const std::uint32_t bytes = 2U * count;
    std::memcpy(chunk.data(), &bytes, sizeof bytes);
  }
  try {
    const auto vbz = millrace::io::Vbz::from_filter_values(values);
    millrace::io::VbzDecoder decoder;
    std::vector<std::int16_t> samples(count);
    decoder.decode(chunk, vbz, samples);
  } catch (const millrace::Error&) {
  }
  return 0;
}
