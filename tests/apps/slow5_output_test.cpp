#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "apps/generate_nanopore.h"
#include "apps/nanopore_simulator.h"
#include "io/slow5_format.h"
#include "stages/decode_signal.h"
#include "stages/slow5_reader.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;
using testing::UnorderedElementsAre;

GenerateNanopore small(const std::filesystem::path& path, const std::string& coding) {
  GenerateNanopore options;
  options.path = path;
  options.reads = 5;
  options.genome_bases = 20'000;
  options.mean_read_bases = 400;
  options.coding = coding;
  return options;
}

std::vector<Chunk> reads_of(const std::filesystem::path& path) {
  Slow5Reader reader(options_of({{"path", path.string()}}));
  DecodeSignal decode(options_of({}));
  decode.prepare(reader.prepare());
  std::vector<Chunk> chunks;
  for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) chunks.push_back(std::move(*chunk));
  return test::drive(decode, std::move(chunks));
}

TEST(Slow5Output, HoldsWhatWasDrawnInEveryCoding) {
  const TempDirectory directory;
  const std::pair<const char*, const char*> cases[] = {{"vbz.blow5", "blow5:zstd,svb-zd"},
                                                       {"deflate.blow5", "blow5:zlib,svb-zd"},
                                                       {"none.blow5", "blow5:none,none"},
                                                       {"vbz.slow5", "slow5"}};
  for (const auto& [name, coding] : cases) {
    const std::filesystem::path path = directory / name;
    const GenerateNanopore options = small(path, path.stem().string());
    const GenerateSummary summary = generate_nanopore(options);
    EXPECT_EQ(summary.file_bytes, std::filesystem::file_size(path));
    EXPECT_EQ(io::text_of(io::index_slow5(path).coding), coding);
    const NanoporeSimulator simulator(options);
    const auto reads = reads_of(path);
    ASSERT_EQ(reads.size(), 5U) << name;
    SimulatedRead drawn;
    for (std::uint64_t number = 0; number < reads.size(); ++number) {
      simulator.make(number, drawn);
      const Attributes& attributes = reads[number].attributes();
      EXPECT_EQ(attributes.text("read_id"), drawn.id);
      EXPECT_EQ(test::values_of<std::int16_t>(reads[number]), drawn.samples) << name;
      EXPECT_EQ(attributes.number("offset"), drawn.offset);
      EXPECT_EQ(attributes.text("channel_number"), std::to_string(drawn.channel));
      EXPECT_EQ(attributes.integer("read_number"), static_cast<std::int64_t>(number) + 1);
      EXPECT_EQ(attributes.text("run_id").value_or("").size(), 40U);
    }
  }
}

TEST(Slow5Output, RefusesACodingThatThereIsNot) {
  const TempDirectory directory;
  EXPECT_EQ(error_of([&] { generate_nanopore(small(directory / "a.blow5", "lzma")); })->kind(), ErrorKind::config);
  EXPECT_TRUE(directory.names().empty());
}

TEST(Slow5Output, WritesTheTruthBesideIt) {
  const TempDirectory directory;
  generate_nanopore(small(directory / "a.blow5", "vbz"));
  EXPECT_THAT(directory.names(), UnorderedElementsAre("a.blow5", "a.truth.fasta"));
}

}  // namespace
}  // namespace millrace
