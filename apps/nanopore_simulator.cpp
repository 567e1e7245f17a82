#include "apps/nanopore_simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <utility>

#include "pipeline/core/error.h"
#include "stages/counter_random.h"

namespace millrace {
namespace {

constexpr std::array kProfiles{
    NanoporeProfile{"dna-r9-min", 8192, 1443.030273, 4000, 13.7222605, 10.25279688, 9, 4, 512},
    NanoporeProfile{"dna-r9-prom", 2048, 748.5801, 4000, -237.4102, 14.1575, 9, 4, 3000},
    NanoporeProfile{"dna-r10-min", 8192, 1536.598389, 4000, 13.380569389, 16.311471649, 10, 4, 512},
    NanoporeProfile{"dna-r10-prom", 2048, 281.345551, 4000, -127.5655735, 19.377283387, 10, 4, 3000},
};

constexpr std::string_view kLetters = "ACGT";
constexpr int kFractionBits = 16;
constexpr double kOne = 1 << kFractionBits;
constexpr std::uint64_t kMaxReadBases = 4'000'000;  // longer reads have been seen; they need no simulating

/// What a stream of random numbers is for; the number of the read is above it.
enum class Purpose : std::uint64_t { place, circumstances, dwell, noise };
constexpr std::uint64_t kPurposes = 4;
constexpr std::uint64_t kGenomeStream = ~std::uint64_t{0};
constexpr std::uint64_t kUnknownBaseStream = kGenomeStream - 1;

std::uint64_t stream_of(std::uint64_t number, Purpose purpose) {
  return number * kPurposes + static_cast<std::uint64_t>(purpose);
}

/// Uniform below `bound`, with a bias of bound / 2^64.
std::uint64_t below(std::uint64_t random, std::uint64_t bound) { return random % bound; }

std::string uuid_of(std::uint64_t high, std::uint64_t low) {
  high = (high & ~std::uint64_t{0xf000}) | 0x4000U;
  low = (low & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffffU, high & 0xffffU,
                     low >> 48, low & 0xffffffffffffU);
}

std::uint8_t base_of(char letter, std::uint64_t place) {
  switch (letter) {
    case 'A':
    case 'a':
      return 0;
    case 'C':
    case 'c':
      return 1;
    case 'G':
    case 'g':
      return 2;
    case 'T':
    case 't':
    case 'U':
    case 'u':
      return 3;
    default:
      return static_cast<std::uint8_t>(counter_random(0, kUnknownBaseStream, place) & 3U);
  }
}

void check_options(const GenerateNanopore& options, unsigned k) {
  if (options.reads == 0 && options.total_bytes == 0) throw config_error("a number of reads or of bytes is needed");
  if (options.min_read_bases < k) throw config_error(fmt::format("reads need at least {} bases", k));
  if (options.mean_read_bases < options.min_read_bases) {
    throw config_error(fmt::format("the mean read length ({}) is below the smallest ({})", options.mean_read_bases,
                                   options.min_read_bases));
  }
  if (options.mean_read_bases > kMaxReadBases / 4) {
    throw config_error(
        fmt::format("a mean read length of {} bases; {} at most", options.mean_read_bases, kMaxReadBases / 4));
  }
}

}  // namespace

std::vector<std::string> nanopore_profiles() {
  std::vector<std::string> names;
  names.reserve(kProfiles.size());
  for (const auto& profile : kProfiles) names.emplace_back(profile.name);
  return names;
}

const NanoporeProfile& nanopore_profile(const std::string& name) {
  for (const auto& profile : kProfiles) {
    if (profile.name == name) return profile;
  }
  throw config_error(fmt::format("there is no profile '{}'; there are {}", name, fmt::join(nanopore_profiles(), ", ")));
}

std::vector<Contig> random_genome(std::uint64_t seed, std::uint64_t bases) {
  Contig contig{"random", std::vector<std::uint8_t>(bases)};
  for (std::uint64_t i = 0; i < bases; ++i) {
    contig.bases[i] = static_cast<std::uint8_t>(counter_random(seed, kGenomeStream, i / 32) >> (2 * (i % 32)) & 3U);
  }
  return {std::move(contig)};
}

std::vector<Contig> read_genome(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw Error("cannot open the genome").at_path(file);
  std::vector<Contig> contigs;
  std::uint64_t place = 0;
  std::string line;
  while (std::getline(in, line)) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.starts_with('>')) {
      contigs.push_back({line.substr(1, line.find_first_of(" \t") - 1), {}});
      continue;
    }
    if (line.empty()) continue;
    if (contigs.empty()) throw Error("is no FASTA file: it does not begin with '>'").at_path(file);
    for (const char letter : line) contigs.back().bases.push_back(base_of(letter, place++));
  }
  if (in.bad()) throw Error("cannot read the genome").at_path(file);
  if (place == 0) throw Error("holds no sequence").at_path(file);
  return contigs;
}

NanoporeSimulator::NanoporeSimulator(const GenerateNanopore& options)
    : options_(options),
      profile_(nanopore_profile(options.profile)),
      model_(options.pore_model.empty() ? synthetic_pore_model() : read_pore_model(options.pore_model)) {
  check_options(options, model_.k);
  genome_ = options.genome.empty() ? random_genome(options.seed, options.genome_bases) : read_genome(options.genome);
  std::erase_if(genome_, [this](const Contig& contig) { return contig.bases.size() < options_.min_read_bases; });
  if (genome_.empty()) {
    throw config_error(fmt::format("the genome has no sequence of {} bases for a read", options.min_read_bases));
  }
  for (const auto& contig : genome_) genome_bases_ += contig.bases.size();
  const double units_per_pa = profile_.digitisation / profile_.range_pa;
  for (const auto& level : model_.levels) {
    levels_.push_back(
        {std::llround(level.mean_pa * units_per_pa * kOne), std::llround(level.stdv_pa * units_per_pa * kOne)});
  }
}

void NanoporeSimulator::make(std::uint64_t number, SimulatedRead& read) const {
  choose_bases(number, read);
  choose_circumstances(number, read);
  draw_signal(number, read);
}

void NanoporeSimulator::choose_bases(std::uint64_t number, SimulatedRead& read) const {
  const auto random = [&](std::uint64_t counter) {
    return counter_random(options_.seed, stream_of(number, Purpose::place), counter);
  };
  // Gamma of shape 2: the sum of two exponentials.
  const double product = (1 - uniform(random(0))) * (1 - uniform(random(1)));
  const double drawn = -0.5 * static_cast<double>(options_.mean_read_bases) * std::log(product);
  std::uint64_t place = below(random(2), genome_bases_);
  read.contig = 0;
  while (place >= genome_[read.contig].bases.size()) place -= genome_[read.contig++].bases.size();
  const auto& bases = genome_[read.contig].bases;
  const auto wanted = static_cast<std::uint64_t>(std::min(drawn, static_cast<double>(kMaxReadBases)));
  const std::uint64_t length = std::clamp<std::uint64_t>(wanted, options_.min_read_bases, bases.size());
  read.start = below(random(3), bases.size() - length + 1);
  read.reverse = (random(4) & 1U) != 0;

  read.bases.resize(length);
  for (std::uint64_t i = 0; i < length; ++i) {
    const std::uint8_t base = read.reverse ? 3 - bases[read.start + length - 1 - i] : bases[read.start + i];
    read.bases[i] = kLetters[base];
  }
}

void NanoporeSimulator::choose_circumstances(std::uint64_t number, SimulatedRead& read) const {
  const auto random = [&](std::uint64_t counter) {
    return counter_random(options_.seed, stream_of(number, Purpose::circumstances), counter);
  };
  constexpr double kMedianBefore = 215;
  constexpr double kMedianBeforeStdv = 12;
  constexpr std::uint64_t kMaxPauseSeconds = 5;
  read.id = uuid_of(random(0), random(1));
  const double offset = profile_.offset_mean + profile_.offset_stdv * normal_.number(random(2));
  read.offset = static_cast<double>(std::llround(offset * kOne)) / kOne;
  read.median_before_pa = kMedianBefore + kMedianBeforeStdv * normal_.number(random(3));
  read.channel = 1 + static_cast<std::int64_t>(below(random(4), static_cast<std::uint64_t>(profile_.channels)));
  read.mux = 1 + static_cast<std::int64_t>(random(5) & 3U);
  read.pause_samples = below(random(6), kMaxPauseSeconds * static_cast<std::uint64_t>(profile_.sampling_hz));
}

std::int64_t NanoporeSimulator::dwell(std::uint64_t random) const {
  if (options_.ideal) return std::llround(profile_.dwell_mean);
  const std::int64_t drawn = std::llround(profile_.dwell_mean + profile_.dwell_stdv * normal_.number(random));
  return drawn < 1 ? 1 - drawn : drawn;
}

void NanoporeSimulator::draw_signal(std::uint64_t number, SimulatedRead& read) const {
  const std::uint64_t dwell_stream = stream_of(number, Purpose::dwell);
  const std::uint64_t noise_stream = stream_of(number, Purpose::noise);
  const std::uint64_t last_index = levels_.size() - 1;
  const std::int64_t offset = std::llround(read.offset * kOne);
  read.samples.clear();

  std::uint64_t kmer = 0;
  std::uint64_t drawn = 0;  // noise values so far; four come from one random number
  std::uint64_t noise = 0;
  for (std::size_t i = 0; i < read.bases.size(); ++i) {
    kmer = (4 * kmer + base_of(read.bases[i], 0)) & last_index;
    if (i + 1 < model_.k) continue;
    const FixedLevel& level = levels_[kmer];
    const std::int64_t length = dwell(counter_random(options_.seed, dwell_stream, i));
    const std::int64_t centre = level.mean - offset;
    const std::size_t before = read.samples.size();
    read.samples.resize(before + static_cast<std::size_t>(length));
    for (std::int64_t j = 0; j < length; ++j) {
      std::int64_t value = centre;
      if (!options_.ideal) {
        noise = drawn % 4 == 0 ? counter_random(options_.seed, noise_stream, drawn / 4) : noise >> 16U;
        ++drawn;
        value += (level.stdv * normal_(noise)) >> NormalTable::kFractionBits;
      }
      const std::int64_t sample = value / (std::int64_t{1} << kFractionBits);  // towards zero, as squigulator does
      read.samples[before + static_cast<std::size_t>(j)] = static_cast<std::int16_t>(std::clamp<std::int64_t>(
          sample, std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()));
    }
  }
}

}  // namespace millrace
