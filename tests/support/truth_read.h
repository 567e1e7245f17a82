#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "stages/decode_signal.h"
#include "stages/fast5_reader.h"
#include "tests/support/stage_driver.h"

namespace millrace::test {

/// A real read whose sequence is known.
struct TruthRead {
  std::string bases;  ///< of the strand that went through the pore, 5' to 3'
  std::vector<std::int16_t> samples;
};

/// The real R9.4 read with a truth (shared/data/basecall_truth, from scrappie's reads/); nothing when it is not here.
/// Its FASTA file has the other strand.
inline std::optional<TruthRead> r94_truth_read() {
  const auto stem =
      test_data() / "basecall_truth" / "MINICOL228_20161012_FNFAB42578_MN17976_mux_scan_HG_52221_ch174_read172_strand";
  std::ifstream fasta(stem.string() + ".fa");
  if (!fasta) return std::nullopt;
  TruthRead read;
  for (std::string line; std::getline(fasta, line);) {
    if (!line.starts_with('>')) read.bases += line;
  }
  std::reverse(read.bases.begin(), read.bases.end());
  for (char& base : read.bases) base = "TGCA"[std::string("ACGT").find(base)];
  Fast5Reader reader(options_of({{"path", stem.string() + ".fast5"}}));
  DecodeSignal decoder{Options()};
  decoder.prepare(reader.prepare());
  read.samples = values_of<std::int16_t>(*decoder.process(*reader.produce(0)));
  return read;
}

}  // namespace millrace::test
