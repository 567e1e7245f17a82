#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "stages/pore_model.h"

namespace millrace::test {

/// A read with known bases, as squigulator's R9.4 profile makes it: each k-mer lasts 9 +- 4 samples, and each sample is
/// drawn from the k-mer's level and deviation.
struct SimulatedRead {
  static constexpr double kDigitisation = 8192;
  static constexpr double kRangePa = 1443.03;
  static constexpr double kOffset = 13;

  std::string bases;  ///< 5' to 3'
  std::vector<std::int16_t> samples;
};

inline std::string random_bases(std::mt19937_64& random, std::size_t count) {
  std::string bases(count, ' ');
  for (char& base : bases) base = "ACGT"[random() % 4];
  return bases;
}

/// `noise` multiplies the deviations; `dwell` is the mean number of samples per k-mer. `reversed`: the strand goes 3'
/// first, as RNA does.
inline SimulatedRead simulated_read(const PoreModel& model, std::uint64_t seed, std::size_t bases, double noise = 1,
                                    double dwell = 9, bool reversed = false) {
  std::mt19937_64 random(seed);
  SimulatedRead read{random_bases(random, bases), {}};
  std::normal_distribution<double> normal;
  std::vector<std::size_t> kmers;
  std::size_t kmer = 0;
  for (std::size_t i = 0; i < bases; ++i) {
    kmer = (4 * kmer + std::string_view("ACGT").find(read.bases[i])) % model.levels.size();
    if (i + 1 >= model.k) kmers.push_back(kmer);
  }
  if (reversed) std::reverse(kmers.begin(), kmers.end());
  const double units_per_pa = SimulatedRead::kDigitisation / SimulatedRead::kRangePa;
  for (const std::size_t k : kmers) {
    const auto& level = model.levels[k];
    const double drawn = std::round(dwell + dwell * 4 / 9 * normal(random));
    for (double left = drawn < 1 ? 1 - drawn : drawn; left > 0; --left) {
      const double pa = level.mean_pa + noise * level.stdv_pa * normal(random);
      read.samples.push_back(static_cast<std::int16_t>(pa * units_per_pa - SimulatedRead::kOffset));
    }
  }
  return read;
}

}  // namespace millrace::test
