#include "io/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace millrace::io {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  constexpr std::size_t kMostAtOnce = 1 << 30;  // ISA-L counts in int
  std::uint32_t state = ~before;
  while (!bytes.empty()) {
    const std::size_t length = std::min(bytes.size(), kMostAtOnce);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): ISA-L only reads, but its pointer is not const
    auto* const data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    state = ::crc32_iscsi(data, static_cast<int>(length), state);
    bytes = bytes.subspan(length);
  }
  return ~state;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return ::crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace millrace::io
