#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace millrace::test {

using Contents = std::vector<std::byte>;

/// Bytes that no codec can shorten.
inline Contents random_bytes(std::mt19937_64& random, std::size_t bytes) {
  Contents result(bytes);
  for (auto& byte : result) byte = static_cast<std::byte>(random());
  return result;
}

/// Bytes of a small alphabet with repeats at random distances, as in text.
inline Contents random_text(std::mt19937_64& random, std::size_t bytes) {
  Contents result;
  result.reserve(bytes);
  while (result.size() < bytes) {
    if (result.size() > 20 && random() % 3 == 0) {
      const std::size_t from = random() % (result.size() - 16);
      for (std::size_t i = 0; i < 12 && result.size() < bytes; ++i) result.push_back(result[from + i]);
    } else {
      result.push_back(static_cast<std::byte>('a' + random() % 20));
    }
  }
  return result;
}

/// Contents for a codec's round trip: empty, tiny, one value, noise, text, lengths around 64 KiB; up to `largest`
/// bytes.
inline std::vector<Contents> byte_samples(std::uint64_t seed, std::size_t largest) {
  std::mt19937_64 random(seed);
  std::vector<Contents> result{Contents{}, Contents(1, std::byte{255}), Contents(largest, std::byte{0})};
  for (const std::size_t bytes :
       {std::size_t{2}, std::size_t{65535}, std::size_t{65536}, std::size_t{65537}, largest}) {
    result.push_back(random_bytes(random, bytes));
    result.push_back(random_text(random, bytes));
  }
  for (int i = 0; i < 20; ++i) {
    const std::size_t bytes = random() % 3000;
    result.push_back(i % 2 == 0 ? random_bytes(random, bytes) : random_text(random, bytes));
  }
  return result;
}

}  // namespace millrace::test
