#include "stages/signal_digest.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace millrace {
namespace {

TEST(SignalDigest, IsTheSha256OfTheBytes) {
  SignalHasher hasher;
  const std::string abc = "abc";  // FIPS 180-2, appendix B.1
  EXPECT_EQ(hex_of(hasher.of(std::as_bytes(std::span(abc)))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(hasher.of({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(SignalDigest, ReadsBackWhatItWrites) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    SignalDigest digest{};
    for (auto& byte : digest) byte = static_cast<unsigned char>(random());
    EXPECT_EQ(digest_of(hex_of(digest)), digest);
  }
  EXPECT_EQ(digest_of(std::string(64, 'F')), digest_of(std::string(64, 'f')));
}

TEST(SignalDigest, RefusesWhatIsNone) {
  EXPECT_FALSE(digest_of(""));
  EXPECT_FALSE(digest_of(std::string(63, '0')));
  EXPECT_FALSE(digest_of(std::string(65, '0')));
  EXPECT_FALSE(digest_of(std::string(63, '0') + "g"));
  EXPECT_FALSE(digest_of(" " + std::string(63, '0')));
}

}  // namespace
}  // namespace millrace
