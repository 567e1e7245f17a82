#include "stages/signal_qc_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "stages/decode_signal.h"
#include "stages/fast5_reader.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::chunk_of;
using test::options_of;
using test::TempDirectory;

constexpr const char* kHeader = "read_id\tsamples\tsum\tmin\tmax\tsha256_i16le\n";

Options writing(const std::filesystem::path& path) { return options_of({{"path", path.string()}}); }

Chunk read(const std::string& id, const std::vector<std::int16_t>& samples) {
  return chunk_of(samples, std::make_shared<const Attributes>(Attributes{{"read_id", id}}));
}

TEST(SignalQcWriter, WritesOneRowPerRead) {
  const TempDirectory directory;
  SignalQcWriter writer(writing(directory / "qc.tsv"));
  writer.prepare({DType::i16, "signal", 100});
  test::drive(writer, {read("a", {1, -2, 300}), read("b", {-32768, -32768}), read("empty", {})});
  EXPECT_EQ(test::contents_of(directory / "qc.tsv"),
            std::string(kHeader) +
                // printf '\x01\x00\xfe\xff\x2c\x01' | sha256sum, and so on
                "a\t3\t299\t-2\t300\t449c6a1f60e95b7c5cbc273adb0b1500608f742c10489e5cc45e6cdf549cf45b\n"
                "b\t2\t-65536\t-32768\t-32768\tda60b92bc70e999c07a6ded180a16c1e801e89a5722b565ea242d6aff2f507d8\n"
                "empty\t0\t0\t0\t0\te3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n");
  ASSERT_EQ(writer.outputs().size(), 1U);
  EXPECT_EQ(writer.outputs()[0].path, directory / "qc.tsv");
}

TEST(SignalQcWriter, AddsWhatALabLooksAt) {
  const TempDirectory directory;
  SignalQcWriter writer(options_of({{"path", (directory / "qc.tsv").string()}, {"columns", "full"}}));
  writer.prepare({DType::i16, "signal", 100});
  // Samples 100 100 200 300 1000: mean 340, median 200, distances 100 100 0 100 800; 0.5 pA per count.
  Chunk known = chunk_of(std::vector<std::int16_t>{100, 100, 200, 300, 1000},
                         std::make_shared<const Attributes>(Attributes{{"read_id", "a"},
                                                                       {"offset", 10.0},
                                                                       {"range", 1024.0},
                                                                       {"digitisation", 2048.0},
                                                                       {"sampling_rate", 4000.0},
                                                                       {"start_time", std::int64_t{4001}},
                                                                       {"channel_number", "12"},
                                                                       {"start_mux", std::int64_t{3}},
                                                                       {"end_reason", "signal\tpositive"},
                                                                       {"run_id", "r1"}}));
  known.set_origin({std::make_shared<const std::filesystem::path>("/data/x.pod5"), 0, 1});
  std::vector<Chunk> reads;
  reads.push_back(std::move(known));
  reads.push_back(read("bare", {1, 2}));
  reads.push_back(chunk_of(std::vector<std::int16_t>{},
                           std::make_shared<const Attributes>(Attributes{
                               {"read_id", "empty"}, {"offset", 1.0}, {"range", 1.0}, {"digitisation", 1.0}})));
  test::drive(writer, std::move(reads));
  std::istringstream table(test::contents_of(directory / "qc.tsv"));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line,
            "read_id\tsamples\tsum\tmin\tmax\tsha256_i16le\tat_min\tat_max\tmean_pa\tstdv_pa\tmedian_pa\tmad_pa\t"
            "start_s\tduration_s\tchannel\tmux\tend_reason\trun_id\tfile");
  const auto behind_the_sum = [&] {
    std::getline(table, line);
    std::size_t at = 0;
    for (int i = 0; i < 6; ++i) at = line.find('\t', at) + 1;
    return line.substr(at);
  };
  // Variance (240^2 + 240^2 + 140^2 + 40^2 + 660^2) / 5 = 114400.
  EXPECT_EQ(behind_the_sum(),
            "2\t1\t175.0000\t169.1153\t105.0000\t50.0000\t1.00025\t0.00125\t12\t3\tsignal positive\tr1\tx.pod5");
  EXPECT_EQ(behind_the_sum(), "1\t1\t\t\t\t\t\t\t\t\t\t\t");
  EXPECT_EQ(behind_the_sum(), "0\t0\t\t\t\t\t\t\t\t\t\t\t");
  EXPECT_GT(writer.state_bytes(), 65536U * 4);
}

TEST(SignalQcWriter, RefusesAReadIdThatWouldBreakTheTable) {
  const TempDirectory directory;
  SignalQcWriter writer(writing(directory / "qc.tsv"));
  writer.prepare({DType::i16, "signal", 100});
  for (const char* const id : {"a\tb", "a\nb", "\r"}) EXPECT_THROW(writer.consume(read(id, {1})), Error);
  EXPECT_THROW(SignalQcWriter(options_of({{"path", "a"}, {"columns", "all"}})), Error);
}

TEST(SignalQcWriter, LeavesNothingWhenTheRunFails) {
  const TempDirectory directory;
  SignalQcWriter writer(writing(directory / "qc.tsv"));
  writer.prepare({DType::i16, "signal", 100});
  writer.consume(read("a", {1}));
  writer.abandon();
  EXPECT_TRUE(directory.names().empty());
}

TEST(SignalQcWriter, PreparingCreatesNothing) {
  const TempDirectory directory;
  {
    SignalQcWriter writer(writing(directory / "qc.tsv"));
    writer.prepare({DType::i16, "signal", 100});
  }
  EXPECT_TRUE(directory.names().empty());
}

TEST(SignalQcWriter, AStreamWithoutReadsGivesTheHeader) {
  const TempDirectory directory;
  SignalQcWriter writer(writing(directory / "qc.tsv"));
  writer.prepare({DType::i16, "signal", 100});
  writer.finish(Sink::End::complete);
  EXPECT_EQ(test::contents_of(directory / "qc.tsv"), kHeader);
}

TEST(SignalQcWriter, RefusesWhatIsNoSignalOfAKnownRead) {
  const TempDirectory directory;
  SignalQcWriter writer(writing(directory / "qc.tsv"));
  EXPECT_THROW(writer.prepare({DType::f32, "signal", 100}), Error);
  EXPECT_THROW(writer.prepare({DType::i16, "bytes", 100}), Error);
  writer.prepare({DType::i16, "signal", 100});
  EXPECT_THROW(writer.consume(chunk_of(std::vector<std::int16_t>{1})), Error);
}

/// Rows of EXPECTED_reads.tsv (made by h5py with ONT's plugin) by file, then by read id.
std::map<std::string, std::map<std::string, std::string>> expected_rows(const std::filesystem::path& data) {
  std::map<std::string, std::map<std::string, std::string>> rows;
  std::istringstream table(test::contents_of(data / "EXPECTED_reads.tsv"));
  for (std::string line; std::getline(table, line);) {
    const auto file_end = line.find('\t');
    const auto id_end = line.find('\t', file_end + 1);
    const auto row_end = line.rfind('\t');
    if (line.substr(0, file_end).ends_with(".fast5")) {
      rows[line.substr(0, file_end)][line.substr(file_end + 1, id_end - file_end - 1)] =
          line.substr(file_end + 1, row_end - file_end - 1);
    }
  }
  return rows;
}

TEST(SignalQcWriter, AgreesWithH5pyOnEveryReadOfEveryRealFile) {
  const auto data = test::test_data();
  if (!std::filesystem::exists(data / "EXPECTED_reads.tsv")) GTEST_SKIP() << "no real data in " << data;
  std::size_t compared = 0;
  for (const auto& [file, expected] : expected_rows(data)) {
    const TempDirectory directory;
    Fast5Reader reader(options_of({{"path", (data / file).string()}}));
    DecodeSignal decode(options_of({}));
    SignalQcWriter writer(writing(directory / "qc.tsv"));
    writer.prepare(decode.prepare(reader.prepare()));
    std::vector<Chunk> decoded;
    for (std::uint64_t index = 0; auto chunk = reader.produce(index); ++index) {
      decoded.push_back(*decode.process(std::move(*chunk)));
    }
    test::drive(writer, std::move(decoded));
    std::istringstream rows(test::contents_of(directory / "qc.tsv"));
    std::string row;
    ASSERT_TRUE(std::getline(rows, row));
    std::size_t reads = 0;
    for (; std::getline(rows, row); ++reads, ++compared) {
      const auto id = row.substr(0, row.find('\t'));
      ASSERT_TRUE(expected.contains(id)) << file << " " << id;
      EXPECT_EQ(row, expected.at(id)) << file;
    }
    EXPECT_EQ(reads, expected.size()) << file;
  }
  EXPECT_EQ(compared, 34U);
}

}  // namespace
}  // namespace millrace
