#include "stages/basecall_hmm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stages/basecalls.h"
#include "tests/support/alignment.h"
#include "tests/support/simulated_read.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using Signal = std::vector<std::int16_t>;
using testing::ElementsAre;
using testing::HasSubstr;

const ChunkType kSignal{DType::i16, "signal", 100'000};

Chunk read_chunk(const Signal& samples) {
  return test::chunk_of(
      samples, std::make_shared<const Attributes>(Attributes{{"read_id", "read-7"}, {"samples", std::int64_t{5}}}));
}

Signal simulated(std::uint64_t seed, std::size_t bases) {
  return test::simulated_read(synthetic_pore_model(), seed, bases).samples;
}

/// A table of all k-mers.
std::string table(unsigned k) {
  std::string text = "kmer\tlevel_mean\tlevel_stdv\n";
  for (std::size_t i = 0; i < std::size_t{1} << (2 * k); ++i) {
    for (unsigned base = k; base-- > 0;) text += "ACGT"[i >> (2 * base) & 3U];
    text += "\t" + std::to_string(60 + i * 7919 % 600 / 10) + "\t1.5\n";
  }
  return text;
}

TEST(BasecallHmm, CallsReadsOfTheSyntheticTableWithoutAnyOption) {
  BasecallHmm stage{Options()};
  stage.prepare(kSignal);
  const auto read = test::simulated_read(synthetic_pore_model(), 1, 1000);
  const auto output = stage.process(read_chunk(read.samples));
  const Basecalls calls = basecalls_of(*output);
  EXPECT_GE(test::align(calls.bases, read.bases).identity(), 0.95);
  EXPECT_EQ(calls.bases.size(), calls.qualities.size());
}

TEST(BasecallHmm, AddsToTheAttributesOfTheRead) {
  BasecallHmm stage{Options()};
  stage.prepare(kSignal);
  Chunk input = read_chunk(simulated(2, 800));
  input.set_sequence(7);
  const auto output = stage.process(std::move(input));
  const Attributes& attributes = output->attributes();
  EXPECT_EQ(attributes.text("read_id"), "read-7");
  EXPECT_EQ(attributes.integer("samples"), 5);
  EXPECT_EQ(attributes.text("model"), "synthetic_6mer");
  EXPECT_EQ(attributes.integer("trimmed_samples"), 0);
  EXPECT_GT(*attributes.number("mean_quality"), 10);
  EXPECT_NEAR(*attributes.number("scaling_scale"), test::SimulatedRead::kDigitisation / test::SimulatedRead::kRangePa,
              0.2);
  EXPECT_TRUE(attributes.number("scaling_shift"));
  EXPECT_EQ(output->sequence(), 7);
}

TEST(BasecallHmm, GivesAReadWithoutACallNoBases) {
  BasecallHmm stage{Options()};
  stage.prepare(kSignal);
  for (const Signal& samples : {Signal{}, Signal{1}, Signal(9000, 5)}) {
    const auto output = stage.process(read_chunk(samples));
    EXPECT_EQ(output->shape(), (Shape{2, 0}));
    EXPECT_TRUE(basecalls_of(*output).bases.empty());
    EXPECT_EQ(output->attributes().number("mean_quality"), 0);
    EXPECT_EQ(output->attributes().number("scaling_scale"), 1);
    EXPECT_EQ(output->attributes().text("read_id"), "read-7");
  }
  EXPECT_THAT(stage.findings().lines, ElementsAre("3 reads without a call: too short, or without signal"));
}

TEST(BasecallHmm, CountsWhatItCalled) {
  BasecallHmm stage{Options()};
  stage.prepare(kSignal);
  EXPECT_THAT(stage.findings().lines, ElementsAre());
  const auto bases = stage.process(read_chunk(simulated(3, 500)))->shape()[1] +
                     stage.process(read_chunk(simulated(4, 600)))->shape()[1];
  stage.process(read_chunk({}));
  EXPECT_THAT(stage.findings().lines,
              ElementsAre(HasSubstr("2 reads called, " + std::to_string(bases) + " bases, mean quality 2"),
                          "1 reads without a call: too short, or without signal"));
}

TEST(BasecallHmm, UsesTheTableThatIsNamed) {
  const test::TempDirectory directory;
  const auto file = directory.write("five.model", table(5));
  BasecallHmm stage(test::options_of({{"model", file.string()}}));
  stage.prepare(kSignal);
  EXPECT_THAT(stage.plan_notes(), ElementsAre("pore model: " + file.string()));
  const auto read = test::simulated_read(read_pore_model(file), 5, 800);
  const auto output = stage.process(read_chunk(read.samples));
  EXPECT_EQ(output->attributes().text("model"), "five.model");
  EXPECT_GE(test::align(basecalls_of(*output).bases, read.bases).identity(), 0.9);
}

TEST(BasecallHmm, SaysThatTheSyntheticTableFitsNoRealRead) {
  BasecallHmm stage{Options()};
  stage.prepare(kSignal);
  EXPECT_THAT(stage.plan_notes(), ElementsAre("pore model: synthetic 6-mer table, which fits no real read; a table for "
                                              "real ones goes into 'model'"));
}

TEST(BasecallHmm, RefusesTablesItCannotCallWith) {
  const test::TempDirectory directory;
  const auto three = directory.write("three.model", table(3));
  BasecallHmm small(test::options_of({{"model", three.string()}}));
  const auto error = test::error_of([&] { small.prepare(kSignal); });
  EXPECT_EQ(error->kind(), ErrorKind::config);
  EXPECT_THAT(error->what(), HasSubstr("the pore model has k-mers of 3 bases; 4 to 7 can be called with"));
  BasecallHmm absent(test::options_of({{"model", (directory / "absent").string()}}));
  EXPECT_THAT(test::error_of([&] { absent.prepare(kSignal); })->what(), HasSubstr("cannot open the pore model"));
  BasecallHmm folder(test::options_of({{"model", directory.path().string()}}));
  EXPECT_THAT(test::error_of([&] { folder.prepare(kSignal); })->what(), HasSubstr("cannot read the pore model"));
}

TEST(BasecallHmm, CallsRnaFromItsOtherEnd) {
  const auto read = test::simulated_read(synthetic_pore_model(), 6, 400, 1, 43, true);
  BasecallHmm rna(test::options_of({{"preset", "rna_70bps"}}));
  rna.prepare(kSignal);
  const auto output = rna.process(read_chunk(read.samples));
  EXPECT_GE(test::align(basecalls_of(*output).bases, read.bases).identity(), 0.85);
  BasecallHmm other(test::options_of({{"preset", "rna_70bps"}, {"reversed", false}}));
  other.prepare(kSignal);
  EXPECT_LT(test::align(basecalls_of(*other.process(read_chunk(read.samples))).bases, read.bases).identity(), 0.65);
}

TEST(BasecallHmm, RefusesAPresetThatIsNone) {
  const auto error = test::error_of([] { BasecallHmm(test::options_of({{"preset", "r9_450bp"}})); });
  EXPECT_EQ(error->kind(), ErrorKind::config);
  EXPECT_STREQ(error->what(), "test.toml:7:3: there is no preset 'r9_450bp'; did you mean 'r9_450bps'?");
}

TEST(BasecallHmm, AnnouncesMemoryForTheMostBasesThereCanBe) {
  BasecallHmm stage{Options()};
  const ChunkType type = stage.prepare({DType::i16, "signal", 6000});
  EXPECT_EQ(type.content, kBasecalls);
  // Up to 1001 events in 3000 samples, two bases each, and 6 at each of 4 joints.
  EXPECT_EQ(type.max_bytes, 2 * (2 * 1001 + 6 * 4));
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  stage.process(read_chunk(Signal(3000)));
  EXPECT_EQ(lender.largest_loan(), type.max_bytes);
}

TEST(BasecallHmm, TakesAReadThatIsLongerThanAnnounced) {
  BasecallHmm stage{Options()};
  stage.prepare({DType::i16, "signal", 2});
  const auto read = test::simulated_read(synthetic_pore_model(), 7, 500);
  EXPECT_GE(test::align(basecalls_of(*stage.process(read_chunk(read.samples))).bases, read.bases).identity(), 0.94);
}

}  // namespace
}  // namespace millrace
