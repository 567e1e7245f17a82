#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/generate_nanopore.h"
#include "stages/normal_table.h"
#include "stages/pore_model.h"

namespace millrace {

/// What an instrument does to a current, and how long a base takes; squigulator's numbers.
struct NanoporeProfile {
  std::string_view name;
  double digitisation;
  double range_pa;
  double sampling_hz;
  double offset_mean;
  double offset_stdv;
  double dwell_mean;
  double dwell_stdv;
  std::int64_t channels;
};

/// Error (kind config) for an unknown name.
const NanoporeProfile& nanopore_profile(const std::string& name);

/// A sequence to draw reads from; bases as 0 to 3 (A, C, G, T).
struct Contig {
  std::string name;
  std::vector<std::uint8_t> bases;
};

/// `bases` random bases, a function of the seed.
std::vector<Contig> random_genome(std::uint64_t seed, std::uint64_t bases);
/// The sequences of a FASTA file; a letter other than A, C, G and T (of either case) becomes a base that depends on its
/// place. Error with path when there is none.
std::vector<Contig> read_genome(const std::filesystem::path& file);

/// One simulated read.
struct SimulatedRead {
  std::string id;
  std::size_t contig = 0;
  std::uint64_t start = 0;  ///< of the read on the forward strand, from 0
  bool reverse = false;
  std::string bases;  ///< as they went through the pore, 5' to 3'
  double offset = 0;
  double median_before_pa = 0;
  std::int64_t channel = 1;
  std::int64_t mux = 1;
  std::uint64_t pause_samples = 0;  ///< between the read before on this channel and this one
  std::vector<std::int16_t> samples;
};

/// Makes reads by number: read i is a function of the options and i alone. Const, so any number of threads may use one.
class NanoporeSimulator {
 public:
  /// Opens the model and genome that the options name. Error (kind config) for options that make no sense.
  explicit NanoporeSimulator(const GenerateNanopore& options);

  /// Reuses the memory of `read`.
  void make(std::uint64_t number, SimulatedRead& read) const;

  const NanoporeProfile& profile() const { return profile_; }
  const PoreModel& pore_model() const { return model_; }
  const std::vector<Contig>& genome() const { return genome_; }

 private:
  /// A level in the integers that samples are made of: 2^-16 of a unit of the converter.
  struct FixedLevel {
    std::int64_t mean = 0;
    std::int64_t stdv = 0;
  };

  void choose_bases(std::uint64_t number, SimulatedRead& read) const;
  void choose_circumstances(std::uint64_t number, SimulatedRead& read) const;
  void draw_signal(std::uint64_t number, SimulatedRead& read) const;
  std::int64_t dwell(std::uint64_t random) const;

  GenerateNanopore options_;
  NanoporeProfile profile_;
  PoreModel model_;
  std::vector<Contig> genome_;
  std::uint64_t genome_bases_ = 0;
  std::vector<FixedLevel> levels_;
  NormalTable normal_;
};

}  // namespace millrace
