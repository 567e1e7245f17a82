#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace::io {

/// CRC-32C (Castagnoli polynomial 0x1EDC6F41, reflected, initial value and final inversion of all ones: RFC 3720
/// appendix B.4, "123456789" gives 0xE3069283), by Intel's ISA-L, which uses the CPU's instructions: several GB/s.
/// `before`: the CRC of the bytes before these, to go on with; 0 at the start.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// CRC-32 as in zlib and Ethernet (polynomial 0x04C11DB7, reflected; "123456789" gives 0xCBF43926).
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace millrace::io
