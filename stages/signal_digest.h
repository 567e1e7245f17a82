#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

/// SHA-256 of the samples of a read as little-endian int16: what tells two signals apart.
using SignalDigest = std::array<unsigned char, 32>;

/// 64 digits, lower case.
std::string hex_of(const SignalDigest& digest);
/// The reverse, of either case; nothing when it is no digest.
std::optional<SignalDigest> digest_of(std::string_view hex);

/// Makes digests with OpenSSL, whose algorithm is fetched once: looking it up costs more than hashing a short read. One
/// thread.
class SignalHasher {
 public:
  /// Error when OpenSSL offers no SHA-256.
  SignalHasher();
  SignalHasher(const SignalHasher&) = delete;
  SignalHasher& operator=(const SignalHasher&) = delete;
  ~SignalHasher();

  SignalDigest of(std::span<const std::byte> samples);

 private:
  struct Context;

  std::unique_ptr<Context> context_;
};

}  // namespace millrace
