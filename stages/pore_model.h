#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace millrace {

/// The current that a pore shows for every k-mer. Index of a k-mer: its bases, 5' to 3', as digits to base 4 (A 0, C 1,
/// G 2, T 3), the first base most significant.
struct PoreModel {
  static constexpr unsigned kMinK = 3;
  static constexpr unsigned kMaxK = 10;

  struct Level {
    double mean_pa = 0;
    double stdv_pa = 0;
  };
  unsigned k = 0;
  std::vector<Level> levels;  ///< 4^k
  std::string name;           ///< for people
};

/// Reads a table of k-mer levels, in one of the two public forms:
///
/// - with a header line that names the columns kmer, level_mean and level_stdv (others are ignored): the legacy models
///   of nanoporetech/kmer_models, nanopolish's .model files, UNCALLED's r94_5mers.txt. Levels are in pA.
/// - "levels_v1" of nanoporetech/kmer_models: k-mer and level, without a header. These levels have mean 0 and spread 1
///   and no deviations. They are read as currents with the mean and the spread of the R9.4 table (90.2 and 12.9 pA),
///   and every k-mer has that table's mean deviation, 2.2 pA: who fits shift and scale to a read loses nothing.
///
/// Columns are separated by blanks or tabs, lines beginning with '#' are skipped, U is read as T. Every k-mer must be
/// there once, k is kMinK to kMaxK. Packed tables (.gz, .npz) are refused. Error with path and the line's offset.
PoreModel read_pore_model(const std::filesystem::path& file);

/// The same from a stream; errors have the line's offset.
PoreModel parse_pore_model(std::istream& in);

/// A 6-mer table that is of no real pore: independent normal levels with the mean (90.2 pA) and spread (12.9 pA) of
/// ONT's R9.4 table, cut at 2.4 spreads, and deviations from 1.3 to 3.0 pA. Always the same.
PoreModel synthetic_pore_model();

}  // namespace millrace
