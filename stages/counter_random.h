#pragma once

#include <cstdint>

namespace millrace {

/// 64 random bits that are a function of their place alone (SplitMix64, Steele, Lea and Flood 2014, with the counter as
/// its state): any slot can make any part of the stream.
constexpr std::uint64_t counter_random(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const auto mix = [](std::uint64_t z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  };
  return mix(mix(mix(seed) ^ stream) + counter * 0x9e3779b97f4a7c15ULL);
}

/// Uniform in [0, 1): 53 of the bits.
constexpr double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11U) * 0x1.0p-53; }

}  // namespace millrace
