#include "stages/verify_signal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stages/signal_qc_writer.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::chunk_of;
using test::options_of;
using testing::ElementsAre;
using testing::HasSubstr;

const ChunkType kSignal{DType::i16, "signal", 1 << 20};

Chunk read(const std::string& id, const std::vector<std::int16_t>& samples) {
  Chunk chunk = chunk_of(samples, std::make_shared<const Attributes>(Attributes{{"read_id", id}}));
  chunk.set_origin({std::make_shared<const std::filesystem::path>("/data/x.pod5"), 77, 10});
  return chunk;
}

class VerifySignalTest : public testing::Test {
 protected:
  /// The table of the reads a, b and c.
  VerifySignalTest() {
    SignalQcWriter writer(options_of({{"path", table().string()}, {"columns", "full"}}));
    writer.prepare(kSignal);
    test::drive(writer, {read("a", {1, 2, 3}), read("b", {}), read("c", {-5})});
  }
  std::filesystem::path table() const { return directory_ / "qc.tsv"; }

  Findings verify(std::vector<Chunk> reads, const std::string& action, Sink::End end = Sink::End::complete) const {
    VerifySignal verify(options_of({{"against", table().string()}, {"on_mismatch", action}}));
    verify.prepare(kSignal);
    test::drive(verify, std::move(reads), end);
    return verify.findings();
  }
  std::string failure(std::vector<Chunk> reads) const {
    const auto error = test::error_of([&] { verify(std::move(reads), "fail"); });
    return error ? error->what() : "";
  }
  std::string failure_of_table(const std::string& contents) const {
    const auto file = directory_.write("bad.tsv", contents);
    VerifySignal verify(options_of({{"against", file.string()}}));
    const auto error = test::error_of([&] { verify.prepare(kSignal); });
    return error ? error->message() : "";
  }

  test::TempDirectory directory_;
};

TEST_F(VerifySignalTest, TheSameReadsPassInAnyOrderAndMoreThanOnce) {
  const Findings findings =
      verify({read("c", {-5}), read("a", {1, 2, 3}), read("b", {}), read("a", {1, 2, 3})}, "fail");
  EXPECT_THAT(findings.lines, ElementsAre("0 of 4 reads have other samples than the table says, 0 are not in it"));
  EXPECT_TRUE(findings.refused.empty());
}

TEST_F(VerifySignalTest, OneChangedBitEndsTheRun) {
  EXPECT_THAT(failure({read("a", {1, 2, 2})}),
              HasSubstr("/data/x.pod5, offset 77: read a: checksum mismatch of its samples: expected sha256 "));
}

TEST_F(VerifySignalTest, AReadThatIsNotInTheTableEndsTheRun) {
  EXPECT_EQ(failure({read("d", {1})}), "/data/x.pod5, offset 77: read d is not in qc.tsv");
}

TEST_F(VerifySignalTest, ReadsThatDidNotComeEndTheRunWhenItIsComplete) {
  EXPECT_EQ(failure({read("c", {-5})}), table().string() + ": 2 of 3 reads of the table did not come, a among them");
  EXPECT_NO_THROW(verify({read("c", {-5})}, "fail", Sink::End::interrupted));
}

TEST_F(VerifySignalTest, CountGoesOnAndTellsOfAllThree) {
  const Findings findings = verify({read("a", {9}), read("d", {1}), read("c", {-5}), read("e", {})}, "count");
  ASSERT_EQ(findings.lines.size(), 5U);
  EXPECT_EQ(findings.lines[0], "1 of 4 reads have other samples than the table says, 2 are not in it");
  EXPECT_EQ(findings.lines[1], "1 of 3 reads of the table did not come, b among them");
  EXPECT_THAT(findings.lines[2], HasSubstr("read a: checksum mismatch"));
  ASSERT_EQ(findings.refused.size(), 2U);
  EXPECT_EQ(findings.refused[0].reason, "checksum mismatch");
  EXPECT_EQ(findings.refused[0].chunks, 1U);
  EXPECT_EQ(findings.refused[1].chunks, 2U);
}

TEST_F(VerifySignalTest, TellsOfTheFirstMismatchesOnly) {
  std::vector<Chunk> reads;
  for (int i = 0; i < 25; ++i) reads.push_back(read("a", {static_cast<std::int16_t>(i + 10)}));
  const Findings findings = verify(std::move(reads), "count", Sink::End::interrupted);
  EXPECT_EQ(findings.lines.size(), 12U);
  EXPECT_EQ(findings.lines.back(), "and 15 more");
}

TEST_F(VerifySignalTest, RefusesTablesThatAreNone) {
  const std::string sum(64, 'a');
  EXPECT_EQ(failure_of_table(""), "has no columns read_id and sha256_i16le, which signal_qc_writer makes");
  EXPECT_EQ(failure_of_table("read_id\tsha256\n"),
            "has no columns read_id and sha256_i16le, which signal_qc_writer makes");
  EXPECT_EQ(failure_of_table("read_id\tsha256_i16le\na\t" + sum + "\nb\n"), "line 3 has 1 fields, the first line 2");
  EXPECT_EQ(failure_of_table("read_id\tsha256_i16le\na\t12\n"), "line 2 has no SHA-256 in column sha256_i16le");
  EXPECT_EQ(failure_of_table("read_id\tsha256_i16le\na\t" + sum + "\na\t" + std::string(64, 'b') + "\n"),
            "line 3: read a stands there with two sums");
  VerifySignal none(options_of({{"against", (directory_ / "none.tsv").string()}}));
  EXPECT_THAT(test::error_of([&] { none.prepare(kSignal); })->what(), HasSubstr("cannot open the table of checksums"));
}

TEST_F(VerifySignalTest, TakesColumnsInAnyOrderAndLinesOfWindows) {
  const auto hash = std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const auto file = directory_.write("other.tsv", "sha256_i16le\tx\tread_id\r\n" + hash + "\t1\tempty\r\n");
  VerifySignal verify(options_of({{"against", file.string()}}));
  verify.prepare(kSignal);
  EXPECT_THAT(verify.plan_notes(), ElementsAre("1 reads in other.tsv"));
  EXPECT_GT(verify.state_bytes(), 32U);
  std::vector<Chunk> reads;
  reads.push_back(read("empty", {}));
  EXPECT_NO_THROW(test::drive(verify, std::move(reads)));
}

TEST_F(VerifySignalTest, RefusesOtherInputAndOptions) {
  VerifySignal verify(options_of({{"against", table().string()}}));
  EXPECT_THROW(verify.prepare({DType::f32, "signal", 4}), Error);
  EXPECT_THROW(verify.prepare({DType::i16, "bytes", 4}), Error);
  verify.prepare(kSignal);
  EXPECT_THROW(verify.consume(chunk_of(std::vector<std::int16_t>{1})), Error);
  EXPECT_THROW(VerifySignal(options_of({})), Error);
  EXPECT_THROW(VerifySignal(options_of({{"against", "a"}, {"on_mismatch", "skip"}})), Error);
}

}  // namespace
}  // namespace millrace
