#include "io/crc32c.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/support/scripted_io.h"

namespace millrace::io {
namespace {

using test::bytes_of;

/// Bit by bit, as the polynomial says.
std::uint32_t by_definition(std::span<const std::byte> bytes, std::uint32_t reflected_polynomial) {
  std::uint32_t state = 0xffffffff;
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1U) ^ ((state & 1U) != 0 ? reflected_polynomial : 0);
  }
  return ~state;
}

TEST(Crc32c, HasTheValuesOfTheStandard) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926U);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aaU);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43U);
  EXPECT_EQ(crc32c({}), 0U);
  EXPECT_EQ(crc32({}), 0U);
}

TEST(Crc32c, AgreesWithItsDefinitionAtEveryLengthAndPlace) {
  std::mt19937_64 random(5);
  std::vector<std::byte> bytes(3000);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::size_t length = 0; length < 600; ++length) {
    const auto part = std::span(bytes).subspan(random() % 17, length);
    EXPECT_EQ(crc32c(part), by_definition(part, 0x82f63b78)) << length;
    EXPECT_EQ(crc32(part), by_definition(part, 0xedb88320)) << length;
  }
}

TEST(Crc32c, GoesOnWhereItStopped) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto bytes = bytes_of(text);
    EXPECT_EQ(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))), crc32c(bytes));
    EXPECT_EQ(crc32(bytes.subspan(cut), crc32(bytes.first(cut))), crc32(bytes));
  }
}

}  // namespace
}  // namespace millrace::io
