#pragma once

#include <cstdint>
#include <filesystem>

namespace millrace {

/// Writes `bytes` pseudo-random bytes to `path`, through a temporary name that is renamed at the end. Byte i depends
/// on `seed` and i alone (counter_random(seed, 0, i / 8), little-endian), so a file is the prefix of every longer one
/// with the same seed and any part can be checked on its own. Incompressible. Error with path when it cannot write.
void generate_raw(const std::filesystem::path& path, std::uint64_t bytes, std::uint64_t seed);

}  // namespace millrace
