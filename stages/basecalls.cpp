#include "stages/basecalls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace millrace {
namespace {

bool is_base(std::uint8_t letter) {
  return letter == 'A' || letter == 'C' || letter == 'G' || letter == 'T' || letter == 'N';
}

/// The whole row is judged without a branch per base; the place is looked for only when something is wrong.
void check_bases(std::span<const std::uint8_t> bases) {
  bool good = true;
  for (const std::uint8_t letter : bases) good &= is_base(letter);
  if (good) return;
  const auto at = std::find_if_not(bases.begin(), bases.end(), is_base);
  throw Error("base " + std::to_string(at - bases.begin()) + " is the byte " + std::to_string(*at) +
              ", none of the letters ACGTN");
}

void check_qualities(std::span<const std::uint8_t> qualities) {
  bool good = true;
  for (const std::uint8_t quality : qualities) good &= quality <= kMaxQuality;
  if (good) return;
  const auto at = std::find_if(qualities.begin(), qualities.end(), [](auto quality) { return quality > kMaxQuality; });
  throw Error("the quality of base " + std::to_string(at - qualities.begin()) + " is " + std::to_string(*at) +
              ", above " + std::to_string(kMaxQuality));
}

}  // namespace

Basecalls basecalls_of(const Chunk& chunk) {
  if (chunk.dtype() != DType::u8 || chunk.shape().rank() != 2 || chunk.shape()[0] != 2) {
    throw Error("basecalls are u8 of the shape [2, n], not " + std::string(name_of(chunk.dtype())) + " " +
                chunk.shape().text());
  }
  const auto rows = chunk.view<std::uint8_t>();
  const auto bases = rows.first(rows.size() / 2);
  const auto qualities = rows.subspan(bases.size());
  check_bases(bases);
  check_qualities(qualities);
  return {{reinterpret_cast<const char*>(bases.data()), bases.size()}, qualities};
}

double mean_quality_of(const Attributes& attributes, const Basecalls& calls) {
  if (const auto known = attributes.number("mean_quality")) return *known;
  if (calls.qualities.empty()) return 0;
  std::array<std::uint64_t, kMaxQuality + 1> bases{};
  for (const std::uint8_t quality : calls.qualities) ++bases.at(quality);
  double errors = 0;
  for (std::size_t quality = 0; quality < bases.size(); ++quality) {
    errors += static_cast<double>(bases[quality]) * std::pow(10.0, -0.1 * static_cast<double>(quality));
  }
  return -10 * std::log10(errors / static_cast<double>(calls.qualities.size()));
}

ChunkType basecalls_type(std::uint64_t max_bases) { return {DType::u8, std::string(kBasecalls), 2 * max_bases}; }

}  // namespace millrace
