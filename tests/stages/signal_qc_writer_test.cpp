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
