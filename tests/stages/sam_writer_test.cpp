#include "stages/sam_writer.h"

#include <gmock/gmock.h>
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
using testing::HasSubstr;

const ChunkType kCalls = basecalls_type(4'000'000);
const std::string kHeaderStart = "@HD\tVN:1.6\tSO:unknown\n";
const std::string kProgram = "@PG\tID:millrace\tPN:millrace\tVN:" MILLRACE_VERSION "\n";

std::string group_line(const std::string& run) {
  return "@RG\tID:" + run +
         "_r94_5mers\tPU:FAO12345\tPM:MN17000\tDT:2023-06-22T07:17:48Z\tPL:ONT\tDS:basecall_model=r94_5mers runid=" +
         run + "\tLB:yeast 7\tSM:yeast 7\n";
}

class SamWriterTest : public testing::TestWithParam<std::string> {
 protected:
  using Values = std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>>;

  Options options(Values more = {}) const {
    auto values = options_of(more).values();
    values["path"] = {file().string(), {"test.toml", 7, 3}};
    return {std::move(values), {}, {"test.toml", 5, 1}};
  }
  std::filesystem::path file() const { return directory_ / ("out." + GetParam()); }

  void write(std::vector<Chunk> reads, Values more = {}) const {
    SamWriter writer(options(more));
    writer.prepare(kCalls);
    test::drive(writer, std::move(reads));
  }
  /// What samtools makes of the file, without the line that it adds to the header; SAM files are read as they are.
  std::string text() const {
    if (GetParam() == "sam") return test::contents_of(file());
    const auto view =
        test::run_program(test::kSamtools, {"view", "-h", "--no-PG", "--output-fmt", "sam", file().string()});
    EXPECT_EQ(view.exit_code, 0) << view.err;
    return view.out;
  }
  void check() const {
    if (!std::filesystem::exists(test::kSamtools)) return;
    const auto quick = test::run_program(test::kSamtools, {"quickcheck", "-v", "-u", file().string()});
    EXPECT_EQ(quick.exit_code, 0) << quick.out << quick.err;
    const auto view = test::run_program(test::kSamtools, {"view", "-c", file().string()});
    EXPECT_EQ(view.exit_code, 0) << view.err;
  }
  bool readable() const { return GetParam() == "sam" || std::filesystem::exists(test::kSamtools); }

  test::TempDirectory directory_;
};

std::vector<Chunk> one(Chunk chunk) {
  std::vector<Chunk> chunks;
  chunks.push_back(std::move(chunk));
  return chunks;
}

/// Records of samtools in the order of their tags, whatever the format made of it.
std::vector<std::string> fields_of(const std::string& record) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= record.size();) {
    const std::size_t end = std::min(record.find('\t', at), record.size());
    fields.push_back(record.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

TEST_P(SamWriterTest, WritesWhatIsKnownOfTheRunAndTheRead) {
  if (!readable()) GTEST_SKIP() << "samtools is not installed";
  write(one(called("ACGTN", {0, 1, 40, 93, 2}, test::described("read-1"))));
  check();
  const std::string all = text();
  const std::string header = kHeaderStart + group_line("run-a") + kProgram;
  ASSERT_EQ(all.substr(0, header.size()), header);
  const std::string record = all.substr(header.size(), all.size() - header.size() - 1);
  std::vector<std::string> expected =
      fields_of("read-1\t4\t*\t0\t0\t*\t*\t0\t0\tACGTN\t!\"I~#\t" + std::string(test::kDescribedTags));
  EXPECT_THAT(fields_of(record), testing::UnorderedElementsAreArray(expected));
}

TEST_P(SamWriterTest, AStreamWithoutReadsGivesTheHeader) {
  if (!readable()) GTEST_SKIP() << "samtools is not installed";
  write({});
  EXPECT_EQ(text(), kHeaderStart + kProgram);
  const auto quick = test::run_program(test::kSamtools, {"quickcheck", "-u", file().string()});
  EXPECT_EQ(quick.exit_code, 0) << quick.err;
}

TEST_P(SamWriterTest, LongReadsComeBackAsTheyWere) {
  if (!readable()) GTEST_SKIP() << "samtools is not installed";
  std::vector<Chunk> reads;
  std::vector<test::Calls> calls;
  for (const std::size_t bases : {1, 70'000, 3, 1'300'000, 65'280, 2'500'000, 9}) {
    calls.push_back(test::random_calls(bases, bases));
    reads.push_back(called(calls.back().bases, calls.back().qualities, test::described("r" + std::to_string(bases))));
  }
  write(std::move(reads));
  check();
  const std::string all = text();
  std::size_t at = 0;
  for (const auto& read : calls) {
    const std::string wanted = "\nr" + std::to_string(read.bases.size()) + "\t4\t*\t0\t0\t*\t*\t0\t0\t" + read.bases +
                               "\t" + test::ascii_of(read.qualities) + "\t";
    at = all.find(wanted, at);
    ASSERT_NE(at, std::string::npos) << read.bases.size() << " bases";
  }
}

TEST_P(SamWriterTest, ManyReadsComeBackInOrder) {
  if (!readable()) GTEST_SKIP() << "samtools is not installed";
  std::vector<Chunk> reads;
  for (int i = 0; i < 25'000; ++i) {
    reads.push_back(called("ACGTACGT", {1, 2, 3, 4, 5, 6, 7, 8}, {{"read_id", "r" + std::to_string(i)}}));
  }
  write(std::move(reads));
  check();
  const std::string all = text();
  std::size_t at = 0;
  for (int i = 0; i < 25'000; ++i) {
    at = all.find("\nr" + std::to_string(i) + "\t", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_P(SamWriterTest, RefusesANameThatWouldBreakTheFile) {
  SamWriter writer(options());
  writer.prepare(kCalls);
  for (const std::string& id :
       {std::string("a b"), std::string("a\tb"), std::string("@a"), std::string(), std::string(255, 'x')}) {
    EXPECT_THROW(writer.consume(called("A", {1}, {{"read_id", id}})), Error) << id;
  }
  EXPECT_THROW(writer.consume(called("A", {1}, {})), Error);
  EXPECT_NO_THROW(writer.consume(called("A", {1}, {{"read_id", std::string(254, 'x')}})));
  writer.abandon();
}

TEST_P(SamWriterTest, FactsOfARunCannotBreakTheHeader) {
  if (!readable()) GTEST_SKIP() << "samtools is not installed";
  Attributes attributes = {{"read_id", "a"},
                           {"run_id", "r\t1\n@CO x"},
                           {"run_info", "sample_id\ta\rb\x01\tc\nflow_cell_id\t\xc3\xa9\nexp_start_time\tnever\n"}};
  write(one(called("A", {30}, std::move(attributes))));
  check();
  EXPECT_THAT(text(), HasSubstr(kHeaderStart +
                                "@RG\tID:r?1?@CO x\tPU:\xc3\xa9\tPL:ONT\tDS:runid=r 1 @CO x\tLB:a b  c\tSM:a b  c\n" +
                                kProgram));
}

TEST_P(SamWriterTest, AReadWithoutARunHasNoGroup) {
  if (!readable()) GTEST_SKIP() << "samtools is not installed";
  write(one(called("A", {30}, {{"read_id", "a"}})));
  check();
  EXPECT_EQ(text(), kHeaderStart + kProgram + "a\t4\t*\t0\t0\t*\t*\t0\t0\tA\t?\tqs:f:30\n");
}

TEST_P(SamWriterTest, ASecondRunNeedsRoom) {
  SamWriter writer(options());
  writer.prepare(kCalls);
  writer.consume(called("A", {30}, test::described("a", "run-a")));
  const auto error = test::error_of([&] { writer.consume(called("A", {30}, test::described("b", "run-b"))); });
  EXPECT_THAT(error->message(), HasSubstr("a read of 'run-b_r94_5mers' comes after reads of"));
  writer.abandon();
  EXPECT_TRUE(directory_.names().empty());
}

TEST_P(SamWriterTest, ReadsOfSeveralRunsHaveTheirGroupsInTheHeader) {
  if (GetParam() == "cram") GTEST_SKIP() << "one run per CRAM file";
  if (!readable()) GTEST_SKIP() << "samtools is not installed";
  std::vector<Chunk> reads;
  const auto calls = test::random_calls(7, 100'000);
  for (const char* const run : {"run-a", "run-b", "run-a", "run-c"}) {
    reads.push_back(called(calls.bases, calls.qualities, test::described(std::string("read-of-") + run, run)));
  }
  write(std::move(reads), {{"read_groups", std::int64_t{3}}});
  check();
  const std::string all = text();
  const std::string lines =
      kHeaderStart + group_line("run-a") + group_line("run-b") + group_line("run-c") + kProgram + "@CO\t...";
  EXPECT_EQ(all.substr(0, lines.size()), lines);
  EXPECT_THAT(all, HasSubstr("RG:Z:run-c_r94_5mers"));

  SamWriter writer(options({{"read_groups", std::int64_t{2}}}));
  writer.prepare(kCalls);
  writer.consume(called("A", {30}, test::described("a", "run-a")));
  writer.consume(called("A", {30}, test::described("b", "run-b")));
  EXPECT_THROW(writer.consume(called("A", {30}, test::described("c", "run-c"))), Error);
  writer.abandon();
}

TEST_P(SamWriterTest, LeavesNothingWhenTheRunIsAbandoned) {
  SamWriter writer(options());
  writer.abandon();
  writer.prepare(kCalls);
  const auto calls = test::random_calls(1, 3'000'000);
  writer.consume(called(calls.bases, calls.qualities, test::described("a")));
  writer.abandon();
  EXPECT_TRUE(directory_.names().empty());
}

TEST_P(SamWriterTest, RefusesWhatIsNoCall) {
  SamWriter writer(options());
  EXPECT_THROW(writer.prepare({DType::i16, "signal", 100}), Error);
  writer.prepare(kCalls);
  EXPECT_THROW(writer.consume(called("AX", {1, 1}, {{"read_id", "a"}})), Error);
}

TEST_P(SamWriterTest, CountsTheReadsItRefuses) {
  SamWriter writer(options({{"min_qscore", 20.0}}));
  writer.prepare(kCalls);
  std::vector<Chunk> reads;
  reads.push_back(called("", {}, {{"read_id", "none"}}));
  reads.push_back(called("A", {10}, {{"read_id", "poor"}}));
  test::drive(writer, std::move(reads));
  ASSERT_EQ(writer.findings().refused.size(), 2U);
  EXPECT_EQ(writer.findings().refused[1].reason, "quality below min_qscore");
}

INSTANTIATE_TEST_SUITE_P(Formats, SamWriterTest, testing::Values("sam", "bam", "cram"),
                         [](const auto& instance) { return instance.param; });

TEST(SamWriterOptions, AreChecked) {
  EXPECT_THROW(SamWriter(options_of({{"path", "a.sam"}, {"level", std::int64_t{1}}})), Error);
  EXPECT_THROW(SamWriter(options_of({{"path", "a.cram"}, {"level", std::int64_t{10}}})), Error);
  EXPECT_THROW(SamWriter(options_of({{"path", "a.cram"}, {"read_groups", std::int64_t{2}}})), Error);
  EXPECT_THROW(SamWriter(options_of({{"path", "a.bam"}, {"read_groups", std::int64_t{0}}})), Error);
  EXPECT_THROW(SamWriter(options_of({{"path", "a.bam"}, {"format", "fasta"}})), Error);
  EXPECT_NO_THROW(SamWriter(options_of({{"path", "a.bam"}, {"level", std::int64_t{12}}})));
}

}  // namespace
}  // namespace millrace
