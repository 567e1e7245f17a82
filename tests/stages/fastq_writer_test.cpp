#include "stages/fastq_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/called_reads.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::called;
using test::options_of;

const ChunkType kCalls = basecalls_type(4'000'000);

class FastqWriterTest : public testing::Test {
 protected:
  using Values = std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>>;

  /// The file `name` that the writer makes of `reads`.
  std::string written(const std::string& name, std::vector<Chunk> reads, Values more = {}) {
    FastqWriter writer(options(name, more));
    writer.prepare(kCalls);
    test::drive(writer, std::move(reads));
    findings_ = writer.findings();
    return test::contents_of(directory_ / name);
  }
  Options options(const std::string& name, Values more = {}) const {
    auto values = options_of(more).values();
    values["path"] = {(directory_ / name).string(), {"test.toml", 7, 3}};
    return {std::move(values), {}, {"test.toml", 5, 1}};
  }

  test::TempDirectory directory_;
  Findings findings_;
};

std::vector<Chunk> one(Chunk chunk) {
  std::vector<Chunk> chunks;
  chunks.push_back(std::move(chunk));
  return chunks;
}

TEST_F(FastqWriterTest, WritesFourLinesPerRead) {
  std::vector<Chunk> reads;
  reads.push_back(called("ACGTN", {0, 1, 40, 93, 2}, {{"read_id", "a"}}));
  reads.push_back(called("T", {30}, {{"read_id", "b"}}));
  EXPECT_EQ(written("out.fastq", std::move(reads), {{"tags", false}}), "@a\nACGTN\n+\n!\"I~#\n@b\nT\n+\n?\n");
}

TEST_F(FastqWriterTest, WritesWhatIsKnownOfAReadBehindItsName) {
  EXPECT_EQ(written("out.fastq", one(called("A", {30}, test::described("a")))),
            "@a\t" + std::string(test::kDescribedTags) + "\nA\n+\n?\n");
}

TEST_F(FastqWriterTest, NamesTheFileThatAReadComesFrom) {
  Chunk chunk = called("A", {30}, {{"read_id", "a"}});
  chunk.set_origin({std::make_shared<const std::filesystem::path>("/data/run 7/x.pod5"), 0, 10});
  EXPECT_EQ(written("out.fastq", one(std::move(chunk))), "@a\tqs:f:30\tfn:Z:x.pod5\nA\n+\n?\n");
}

TEST_F(FastqWriterTest, SaysThatAScalingWithoutANameIsToThePoreModel) {
  Attributes attributes = {{"read_id", "a"}, {"mean_quality", 30.0},   {"digitisation", 8192.0}, {"range", 1024.0},
                           {"offset", 10.0}, {"scaling_shift", 630.0}, {"scaling_scale", 96.0}};
  EXPECT_EQ(written("out.fastq", one(called("A", {30}, std::move(attributes)))),
            "@a\tqs:f:30\tsm:f:80\tsd:f:12\tsv:Z:pore_model\nA\n+\n?\n");
}

TEST_F(FastqWriterTest, LeavesOutTagsOfWhatIsNotKnown) {
  EXPECT_EQ(written("out.fastq", one(called("A", {30}, {{"read_id", "a"}}))), "@a\tqs:f:30\nA\n+\n?\n");
}

TEST_F(FastqWriterTest, RefusesAndCountsReadsThatAreNotWanted) {
  std::vector<Chunk> reads;
  reads.push_back(called("", {}, {{"read_id", "none"}, {"mean_quality", 0.0}}));
  reads.push_back(called("AC", {40, 40}, {{"read_id", "short"}, {"mean_quality", 40.0}}));
  reads.push_back(called("ACG", {9, 9, 9}, {{"read_id", "poor"}, {"mean_quality", 9.0}}));
  reads.push_back(called("ACG", {9, 9, 9}, {{"read_id", "poor without a number"}}));
  reads.push_back(called("ACG", {10, 10, 10}, {{"read_id", "good"}, {"mean_quality", 10.0}}));
  EXPECT_EQ(
      written("out.fastq", std::move(reads), {{"tags", false}, {"min_qscore", 10.0}, {"min_length", std::int64_t{3}}}),
      "@good\nACG\n+\n+++\n");
  ASSERT_EQ(findings_.refused.size(), 3U);
  EXPECT_EQ(findings_.refused[0].reason, "no bases");
  EXPECT_EQ(findings_.refused[0].chunks, 1U);
  EXPECT_EQ(findings_.refused[1].reason, "fewer bases than min_length");
  EXPECT_EQ(findings_.refused[1].chunks, 1U);
  EXPECT_EQ(findings_.refused[2].reason, "quality below min_qscore");
  EXPECT_EQ(findings_.refused[2].chunks, 2U);
}

TEST_F(FastqWriterTest, CompressesByItsName) {
  const std::string plain = written("out.fastq", one(called("ACGT", {1, 2, 3, 4}, {{"read_id", "a"}})));
  for (const char* const name : {"out.fastq.gz", "out.fq.bgz", "out.bgzf"}) {
    const std::string file = written(name, one(called("ACGT", {1, 2, 3, 4}, {{"read_id", "a"}})));
    EXPECT_EQ(file.substr(0, 4), "\x1f\x8b\x08\x04") << name;
  }
  EXPECT_EQ(written("none.gz", one(called("ACGT", {1, 2, 3, 4}, {{"read_id", "a"}})), {{"compression", "none"}}),
            plain);
  EXPECT_EQ(written("yes.fastq", one(called("ACGT", {1, 2, 3, 4}, {{"read_id", "a"}})), {{"compression", "bgzf"}})
                .substr(0, 4),
            "\x1f\x8b\x08\x04");
}

TEST_F(FastqWriterTest, GzipReadsBackWhatThePlainFileHas) {
  const auto reads = [] {
    std::vector<Chunk> chunks;
    for (const std::size_t bases : {1, 70'000, 20'000, 3, 1'500'000}) {
      const auto calls = test::random_calls(bases, bases);
      chunks.push_back(called(calls.bases, calls.qualities, test::described("r" + std::to_string(bases))));
    }
    return chunks;
  };
  const std::string plain = written("out.fastq", reads());
  written("out.fastq.gz", reads());
  const auto unpacked = test::run_program("/bin/gzip", {"-dc", (directory_ / "out.fastq.gz").string()});
  EXPECT_EQ(unpacked.exit_code, 0) << unpacked.err;
  EXPECT_TRUE(unpacked.out == plain);
}

TEST_F(FastqWriterTest, AStreamWithoutReadsGivesAnEmptyFile) {
  EXPECT_EQ(written("out.fastq", {}), "");
  EXPECT_EQ(written("out.fastq.gz", {}).size(), 28U);
}

TEST_F(FastqWriterTest, SamtoolsTakesOverTheTags) {
  if (!std::filesystem::exists(test::kSamtools)) GTEST_SKIP() << "samtools is not installed";
  const auto calls = test::random_calls(9, 100'000);
  written("out.fastq.gz", one(called(calls.bases, calls.qualities, test::described("read-1"))));
  const auto sam = test::run_program(test::kSamtools,
                                     {"import", "-T", "*", "-O", "sam", "-0", (directory_ / "out.fastq.gz").string()});
  EXPECT_EQ(sam.exit_code, 0) << sam.err;
  EXPECT_NE(
      sam.out.find("read-1\t4\t*\t0\t0\t*\t*\t0\t0\t" + calls.bases + "\t" + test::ascii_of(calls.qualities) + "\t"),
      std::string::npos);
  EXPECT_NE(sam.out.find(test::kDescribedTags), std::string::npos);
}

TEST_F(FastqWriterTest, RefusesANameThatWouldBreakTheFile) {
  FastqWriter writer(options("out.fastq"));
  writer.prepare(kCalls);
  for (const std::string& id :
       {std::string("a b"), std::string("a\tb"), std::string("a\nb"), std::string("@a"), std::string(),
        std::string(255, 'x'), std::string("caf\xc3\xa9"), std::string("a\0b", 3)}) {
    EXPECT_THROW(writer.consume(called("A", {1}, {{"read_id", id}})), Error) << id;
  }
  EXPECT_STREQ(test::error_of([&] {
                 writer.consume(called("A", {1}, {{"read_id", "ab c"}}));
               })->what(),
               "character 2 of a read_id is the byte 32, which sequence files cannot hold");
  EXPECT_THROW(writer.consume(called("A", {1}, {})), Error);
  EXPECT_NO_THROW(writer.consume(called("A", {1}, {{"read_id", std::string(254, 'x')}})));
  writer.abandon();
}

TEST_F(FastqWriterTest, TextThatATagCannotHoldBecomesQuestionMarks) {
  Attributes attributes = {{"read_id", "a"}, {"run_id", "r\tx\ny"}, {"model", "m\xc3\xa9"}};
  EXPECT_EQ(written("out.fastq", one(called("A", {30}, std::move(attributes)))),
            "@a\tRG:Z:r?x?y_m??\tqs:f:30\nA\n+\n?\n");
}

TEST_F(FastqWriterTest, NumbersThatNoTagHoldsAreLeftOut) {
  Attributes attributes = {{"read_id", "a"},         {"mean_quality", 30.0},   {"samples", std::int64_t{5'000'000'000}},
                           {"sampling_rate", 0.0},   {"channel_number", "4x"}, {"start_time", std::int64_t{-5}},
                           {"scaling_scale", 1e300}, {"range", 1.0},           {"digitisation", 0.0}};
  EXPECT_EQ(written("out.fastq", one(called("A", {30}, std::move(attributes)))), "@a\tqs:f:30\nA\n+\n?\n");
}

TEST_F(FastqWriterTest, RefusesOtherInput) {
  FastqWriter writer(options("out.fastq"));
  EXPECT_THROW(writer.prepare({DType::u8, "bytes", 100}), Error);
  writer.prepare(kCalls);
  EXPECT_THROW(writer.consume(called("AX", {1, 1}, {{"read_id", "a"}})), Error);
}

TEST_F(FastqWriterTest, RefusesOptionsThatCannotBe) {
  EXPECT_STREQ(test::error_of([&] {
                 FastqWriter(options("o", {{"compression", "zip"}}));
               })->what(),
               "test.toml:7:3: 'compression' must be auto, bgzf or none, not 'zip'");
  EXPECT_THROW(FastqWriter(options("o", {{"level", std::int64_t{13}}})), Error);
  EXPECT_THROW(FastqWriter(options("o", {{"min_qscore", -1.0}})), Error);
}

TEST_F(FastqWriterTest, LeavesNothingWhenTheRunIsAbandoned) {
  FastqWriter writer(options("out.fastq.gz"));
  writer.prepare(kCalls);
  const auto calls = test::random_calls(1, 3'000'000);
  writer.consume(called(calls.bases, calls.qualities, {{"read_id", "a"}}));
  writer.abandon();
  EXPECT_TRUE(directory_.names().empty());
}

TEST_F(FastqWriterTest, KeepsAnInterruptedFileUnderAnotherName) {
  FastqWriter writer(options("out.fastq"));
  writer.prepare(kCalls);
  test::drive(writer, one(called("A", {30}, {{"read_id", "a"}})), Sink::End::interrupted);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"out.fastq.partial"});
}

}  // namespace
}  // namespace millrace
