#include "apps/generate_nanopore.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "apps/nanopore_output.h"
#include "apps/nanopore_simulator.h"
#include "stages/decode_signal.h"
#include "stages/fast5_reader.h"
#include "stages/pod5_reader.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;

using Samples = std::vector<std::int16_t>;

GenerateNanopore small(const std::filesystem::path& path, std::uint64_t reads = 6) {
  GenerateNanopore options;
  options.path = path;
  options.reads = reads;
  options.genome_bases = 20'000;
  options.mean_read_bases = 400;
  return options;
}

/// The samples of every read, by our own reader and decoder.
template <typename FormatReader = Fast5Reader>
std::map<std::string, Samples> read_back(const std::filesystem::path& path) {
  FormatReader reader(options_of({{"path", path.string()}}));
  DecodeSignal decode(options_of({}));
  decode.prepare(reader.prepare());
  std::map<std::string, Samples> reads;
  for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) {
    const auto decoded = decode.process(std::move(*chunk));
    reads[std::string(*decoded->attributes().text("read_id"))] = test::values_of<std::int16_t>(*decoded);
  }
  return reads;
}

/// What the simulator drew for the same options.
std::map<std::string, Samples> drawn(const GenerateNanopore& options, std::uint64_t reads) {
  const NanoporeSimulator simulator(options);
  std::map<std::string, Samples> result;
  SimulatedRead read;
  for (std::uint64_t number = 0; number < reads; ++number) {
    simulator.make(number, read);
    result[read.id] = read.samples;
  }
  return result;
}

TEST(GenerateNanopore, APod5FileHoldsTheSame) {
  const TempDirectory directory;
  for (const char* const coding : {"vbz", "none"}) {
    GenerateNanopore options = small(directory / (std::string(coding) + ".pod5"));
    options.coding = coding;
    const GenerateSummary summary = generate_nanopore(options);
    EXPECT_EQ(read_back<Pod5Reader>(options.path), drawn(options, 6)) << coding;
    EXPECT_EQ(summary.reads, 6U);
  }
  GenerateNanopore wrong = small(directory / "x.pod5");
  wrong.coding = "deflate";
  EXPECT_EQ(error_of([&] { generate_nanopore(wrong); })->kind(), ErrorKind::config);
  EXPECT_FALSE(std::filesystem::exists(wrong.path));
}

TEST(GenerateNanopore, SpreadsTheSameReadsOverManyFiles) {
  const TempDirectory directory;
  for (const char* const name : {"reads.fast5", "reads.pod5"}) {
    std::filesystem::create_directory(directory / name);
    GenerateNanopore options = small(directory / name / name);
    options.reads_per_file = 4;
    const GenerateSummary summary = generate_nanopore(options);
    EXPECT_EQ(summary.files, 2U);
    EXPECT_EQ(summary.reads, 6U);
    const auto first = numbered_path(options.path, 0);
    const auto second = numbered_path(options.path, 1);
    EXPECT_EQ(summary.file_bytes, std::filesystem::file_size(first) + std::filesystem::file_size(second));
    const bool is_pod5 = first.extension() == ".pod5";
    auto reads = is_pod5 ? read_back<Pod5Reader>(first) : read_back(first);
    EXPECT_EQ(reads.size(), 4U);
    reads.merge(is_pod5 ? read_back<Pod5Reader>(second) : read_back(second));
    EXPECT_EQ(reads, drawn(options, 6));
  }
}

TEST(GenerateNanopore, TheFileHoldsWhatWasDrawnInEveryCoding) {
  const TempDirectory directory;
  for (const char* const coding : {"vbz", "deflate", "none"}) {
    GenerateNanopore options = small(directory / (std::string(coding) + ".fast5"));
    options.coding = coding;
    const GenerateSummary summary = generate_nanopore(options);
    const auto reads = read_back(options.path);
    EXPECT_EQ(reads, drawn(options, 6)) << coding;
    EXPECT_EQ(summary.reads, 6U);
    EXPECT_EQ(summary.file_bytes, std::filesystem::file_size(options.path));
    std::uint64_t samples = 0;
    for (const auto& [id, read] : reads) samples += read.size();
    EXPECT_EQ(summary.samples, samples);
  }
}

TEST(GenerateNanopore, TheSameOptionsGiveTheSameFilesWithAnyNumberOfThreads) {
  const TempDirectory directory;
  GenerateNanopore options = small(directory / "one.fast5", 40);
  options.threads = 1;
  generate_nanopore(options);
  options.path = directory / "three.fast5";
  options.threads = 3;
  generate_nanopore(options);
  EXPECT_EQ(read_back(directory / "one.fast5"), read_back(directory / "three.fast5"));
  EXPECT_EQ(test::contents_of(directory / "one.truth.fasta"), test::contents_of(directory / "three.truth.fasta"));
}

TEST(GenerateNanopore, AnotherSeedGivesOtherReads) {
  const TempDirectory directory;
  GenerateNanopore options = small(directory / "a.fast5");
  generate_nanopore(options);
  options.path = directory / "b.fast5";
  options.seed = 2;
  generate_nanopore(options);
  EXPECT_NE(read_back(directory / "a.fast5"), read_back(directory / "b.fast5"));
}

TEST(GenerateNanopore, AShorterFileIsThePrefixOfALongerOne) {
  const TempDirectory directory;
  generate_nanopore(small(directory / "long.fast5", 30));
  generate_nanopore(small(directory / "short.fast5", 7));
  const auto longer = read_back(directory / "long.fast5");
  EXPECT_EQ(longer.size(), 30U);
  for (const auto& [id, samples] : read_back(directory / "short.fast5")) EXPECT_EQ(longer.at(id), samples);
}

TEST(GenerateNanopore, WritesAsManyBytesAsAskedForAndAtMostOneReadMore) {
  const TempDirectory directory;
  GenerateNanopore options = small(directory / "bytes.fast5", 0);
  options.total_bytes = 100'000;
  const GenerateSummary summary = generate_nanopore(options);
  EXPECT_GT(summary.file_bytes, 100'000U);
  const auto all = summary.reads;
  options.reads = all - 1;
  EXPECT_EQ(generate_nanopore(options).reads, all - 1);
  Fast5Reader reader(options_of({{"path", options.path.string()}}));
  reader.prepare();
  EXPECT_LT(reader.total_bytes(), 100'000U) << "the last read was not needed";
}

TEST(GenerateNanopore, TheTruthIsWhatWentThroughThePore) {
  const TempDirectory directory;
  const GenerateNanopore options = small(directory / "reads.fast5");
  const GenerateSummary summary = generate_nanopore(options);
  EXPECT_EQ(summary.truth, directory / "reads.truth.fasta");
  const auto genome = random_genome(options.seed, options.genome_bases);
  std::istringstream truth(test::contents_of(summary.truth));
  const auto reads = read_back(options.path);
  std::uint64_t bases = 0;
  std::string header;
  std::string sequence;
  while (std::getline(truth, header) && std::getline(truth, sequence)) {
    bases += sequence.size();
    std::istringstream words(header);
    std::string id, contig, start, end, strand, samples;
    words >> id >> contig >> start >> end >> strand >> samples;
    EXPECT_EQ(samples, "samples=" + std::to_string(reads.at(id.substr(1)).size()));
    const auto from = std::stoul(start.substr(6));
    ASSERT_EQ(std::stoul(end.substr(4)) - from, sequence.size());
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const bool forward = strand == "strand=+";
      const auto base = genome[0].bases[forward ? from + i : from + sequence.size() - 1 - i];
      ASSERT_EQ(sequence[i], "ACGT"[forward ? base : 3 - base]) << id << " " << i;
    }
  }
  EXPECT_EQ(bases, summary.bases);
}

TEST(GenerateNanopore, AnIdealReadShowsTheLevelsOfItsKmers) {
  GenerateNanopore options = small("unused");
  options.ideal = true;
  const NanoporeSimulator simulator(options);
  SimulatedRead read;
  simulator.make(3, read);
  const auto& model = simulator.pore_model();
  ASSERT_EQ(read.samples.size(), 9 * (read.bases.size() - model.k + 1));
  for (std::size_t i = 0; i + model.k <= read.bases.size(); ++i) {
    std::size_t kmer = 0;
    for (std::size_t j = 0; j < model.k; ++j) kmer = 4 * kmer + std::string("ACGT").find(read.bases[i + j]);
    const double expected = model.levels[kmer].mean_pa * 8192 / 1443.030273 - read.offset;
    for (std::size_t j = 0; j < 9; ++j) ASSERT_NEAR(read.samples[9 * i + j], expected, 1.0) << i;
  }
}

TEST(GenerateNanopore, NoiseAndDwellHaveTheirMeansAndSpreads) {
  GenerateNanopore options = small("unused");
  options.mean_read_bases = 20'000;
  options.min_read_bases = 20'000;
  const NanoporeSimulator simulator(options);
  SimulatedRead read;
  simulator.make(0, read);
  // N(9, 4) rounded, with 1 - d for d < 1: mean 9.06.
  EXPECT_NEAR(static_cast<double>(read.samples.size()) / static_cast<double>(read.bases.size()), 9.06, 0.15);
  double sum = 0;
  for (const auto sample : read.samples) sum += (sample + read.offset) * 1443.030273 / 8192;
  EXPECT_NEAR(sum / static_cast<double>(read.samples.size()), 90.2, 1.0) << "pA";
}

TEST(GenerateNanopore, ReadsCarryCalibrationTimesAndTheRun) {
  const TempDirectory directory;
  const GenerateNanopore options = small(directory / "reads.fast5");
  generate_nanopore(options);
  Fast5Reader reader(options_of({{"path", options.path.string()}}));
  reader.prepare();
  const auto first = reader.produce(0);
  const auto last = reader.produce(5);
  EXPECT_EQ(first->attributes().number("digitisation"), 8192);
  EXPECT_EQ(first->attributes().number("sampling_rate"), 4000);
  EXPECT_EQ(first->attributes().integer("read_number"), 1);
  EXPECT_TRUE(last->attributes().integer("start_time"));
  EXPECT_EQ(first->attributes().text("run_id"), last->attributes().text("run_id"));
  EXPECT_EQ(first->attributes().text("run_id")->size(), 40U);
}

TEST(GenerateNanopore, DrawsFromAGenomeOfSeveralSequences) {
  const TempDirectory directory;
  std::string fasta = ">first description\n";
  for (int i = 0; i < 40; ++i) fasta += "ACGTACGTTTGACCATGNacgtacgt\r\n";
  fasta += ">tiny\nACGT\n>second\n" + std::string(900, 'G') + "\n";
  GenerateNanopore options = small(directory / "reads.fast5", 30);
  options.genome = directory.write("genome.fa", fasta);
  generate_nanopore(options);
  const std::string truth = test::contents_of(directory / "reads.truth.fasta");
  EXPECT_NE(truth.find("contig=first "), std::string::npos);
  EXPECT_NE(truth.find("contig=second "), std::string::npos);
  EXPECT_EQ(truth.find("contig=tiny "), std::string::npos) << "too short for a read";
  EXPECT_EQ(truth.find('N'), std::string::npos);
}

TEST(GenerateNanopore, RefusesOptionsThatMakeNoSense) {
  const TempDirectory directory;
  const auto refused = [&](auto&& change) {
    GenerateNanopore options = small(directory / "reads.fast5");
    change(options);
    const auto error = error_of([&] { generate_nanopore(options); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::config) << error->what();
  };
  refused([](auto& options) { options.path.clear(); });
  refused([](auto& options) { options.reads = options.total_bytes = 0; });
  refused([](auto& options) { options.profile = "dna-r99"; });
  refused([](auto& options) { options.coding = "gzip"; });
  refused([](auto& options) { options.mean_read_bases = 100; });
  refused([](auto& options) { options.min_read_bases = 3; });
  refused([](auto& options) { options.genome_bases = 50; });
  refused([](auto& options) { options.mean_read_bases = ~std::uint64_t{0}; });
  refused([](auto& options) { options.truth = options.path; });
  EXPECT_TRUE(directory.names().empty());
}

TEST(GenerateNanopore, LeavesNothingBehindWhenItCannotWrite) {
  const TempDirectory directory;
  const auto nowhere = directory / "absent" / "reads.fast5";
  EXPECT_THROW(generate_nanopore(small(nowhere)), Error);
  GenerateNanopore options = small(directory / "reads.fast5");
  options.truth = nowhere;
  EXPECT_THROW(generate_nanopore(options), Error);
  options = small(directory / "reads.fast5");
  options.genome = directory / "absent.fa";
  EXPECT_THROW(generate_nanopore(options), Error);
  EXPECT_TRUE(directory.names().empty());
}

TEST(GenerateNanopore, ReplacesAnOlderFileAndLeavesNoTemporary) {
  const TempDirectory directory;
  directory.write("reads.fast5", "older");
  generate_nanopore(small(directory / "reads.fast5"));
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"reads.fast5", "reads.truth.fasta"}));
  EXPECT_EQ(read_back(directory / "reads.fast5").size(), 6U);
}

}  // namespace
}  // namespace millrace
