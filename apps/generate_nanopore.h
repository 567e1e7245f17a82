#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace {

/// What to simulate. The defaults give a file of about 200 MB in a few seconds and need nothing but this program.
/// Exactly one of `reads` and `total_bytes` counts: reads when it is not 0.
struct GenerateNanopore {
  std::filesystem::path path;               ///< the file to write: .pod5, .blow5, .slow5 (text), else FAST5; required
  std::uint64_t reads = 0;                  ///< number of reads; 0 = as many as total_bytes asks for
  std::uint64_t total_bytes = 200'000'000;  ///< encoded signal bytes to reach; the last read goes a little beyond
  std::uint64_t seed = 1;
  /// 0 = one file; else files of so many reads each, called like `path` with _0, _1, ... in front of the extension.
  std::uint64_t reads_per_file = 0;

  /// One of nanopore_profiles(): digitisation, range, offset, sampling rate and dwell of an instrument.
  std::string profile = "dna-r9-min";
  /// "vbz", "none", or, in all but POD5 files, "deflate". In BLOW5 files vbz is zstd over svb-zd.
  std::string coding = "vbz";
  /// Levels per k-mer: UNCALLED's r94_5mers.txt, or a table of ONT's kmer_models ("kmer level_mean level_stdv ...").
  /// Empty = a synthetic, seeded 6-mer table: plausible numbers, but of no real pore.
  std::filesystem::path pore_model;
  /// FASTA to draw the reads from, both strands. Empty = a random genome of genome_bases bases.
  std::filesystem::path genome;
  std::uint64_t genome_bases = 1'000'000;

  std::uint64_t mean_read_bases = 5'000;  ///< mean of the gamma distribution (shape 2) of read lengths, at least 200
  std::uint64_t min_read_bases = 200;
  /// Noise-free: every dwell is the profile's mean and every sample the level's mean, so event means are known exactly.
  bool ideal = false;
  /// FASTA with the true bases of every read; empty = `path` with ".truth.fasta" in the place of its extension.
  std::filesystem::path truth;
  unsigned threads = 0;  ///< 0 = cores of this machine. The files do not depend on it.
};

/// What was written.
struct GenerateSummary {
  std::uint64_t reads = 0;
  std::uint64_t samples = 0;
  std::uint64_t bases = 0;
  std::uint64_t files = 0;
  std::uint64_t file_bytes = 0;  ///< of all files
  std::filesystem::path path;
  std::filesystem::path truth;
  std::string pore_model;  ///< "synthetic 6-mer table", or the path
};

/// Names that GenerateNanopore::profile accepts.
std::vector<std::string> nanopore_profiles();

/// Writes a multi-read FAST5 file (layout 2.2), or a POD5 or BLOW5 file, with simulated signal, and the truth beside
/// it, both through temporary names. The signal follows squigulator's model (Gamaarachchi et al. 2024): per k-mer a
/// dwell d = round(N(mean, std)) (1 - d when below 1), per sample a current s = N(level_mean, level_stdv) pA, raw =
/// trunc(s * digitisation / range - offset). Same options, same bytes of signal on every machine. Throws Error (kind
/// config for options that make no sense, else with path); then neither file appears.
GenerateSummary generate_nanopore(const GenerateNanopore& options);

}  // namespace millrace
