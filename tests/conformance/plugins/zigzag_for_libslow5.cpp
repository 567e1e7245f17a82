// Debian's libslow5 0.7 calls zigzag_delta_decode of libstreamvbyte, which gives 32-bit numbers, where it means one
// that gives 16-bit numbers: it writes twice as far as it may. This one, preloaded, is what it means.

#include <cstddef>
#include <cstdint>

extern "C" void zigzag_delta_decode(const std::uint32_t* in, std::int16_t* out, std::size_t count,
                                    std::int32_t previous) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t difference = (in[i] >> 1) ^ (0U - (in[i] & 1U));
    previous = static_cast<std::int32_t>(static_cast<std::uint32_t>(previous) + difference);
    out[i] = static_cast<std::int16_t>(previous);
  }
}
