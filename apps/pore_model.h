#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace {

/// The current that a pore shows for every k-mer. Index of a k-mer: its bases as digits to base 4 (A 0, C 1, G 2, T 3),
/// the first base most significant.
struct PoreModel {
  struct Level {
    double mean_pa = 0;
    double stdv_pa = 0;
  };
  unsigned k = 0;
  std::vector<Level> levels;  ///< 4^k
  std::string name;           ///< for people
};

/// Reads a table with the columns kmer, level_mean and level_stdv (others are ignored), named by a header line and
/// separated by blanks or tabs: UNCALLED's r94_5mers.txt and the legacy models of nanoporetech/kmer_models. Every k-mer
/// must be there once, k is 3 to 10. Error with path and the line's offset.
PoreModel read_pore_model(const std::filesystem::path& file);

/// A 6-mer table that is of no real pore: independent normal levels with the mean (90.2 pA) and spread (12.9 pA) of
/// ONT's R9.4 table, cut at 2.4 spreads, and deviations from 1.3 to 3.0 pA. Always the same.
PoreModel synthetic_pore_model();

}  // namespace millrace
