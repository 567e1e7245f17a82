#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

/// The order in which one block runs its arms: every order equally likely, a function of seed and block alone, the same
/// on every machine and for every number of blocks. Fisher-Yates with numbers of SplitMix64 (Steele, Lea and Flood
/// 2014); std::shuffle is different from library to library.
std::vector<std::size_t> block_order(std::uint64_t seed, std::uint32_t block, std::size_t arms);

}  // namespace millrace
