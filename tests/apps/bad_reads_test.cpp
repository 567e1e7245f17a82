// Files of reads that are damaged, incomplete, or not what their names say: what the program says of each, in one line
// with the file and the place, and what it does about one among many.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/hdf5_format.h"
#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/pod5_files.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::CommandResult;
using test::made_reads;
using test::null_writer;
using test::pod5_of;
using test::stage;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string reader_for(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".fast5" ? "fast5_reader" : extension == ".pod5" ? "pod5_reader" : "slow5_reader";
}

class BadReads : public testing::Test {
 protected:
  CommandResult run(const std::string& reader, const std::filesystem::path& path, const std::string& more = "",
                    const std::vector<std::string>& arguments = {}) const {
    const std::string config = stage("read", reader, "path = \"" + path.string() + "\"\n" + more) +
                               stage("decode", "decode_signal") + null_writer();
    std::vector<std::string> all{"run", directory_.write("p.toml", config).string(), "--progress", "off"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return test::run_millrace(all);
  }

  /// The whole of standard error is one line that names the file and says `text`.
  static void expect_one_line(const CommandResult& result, const std::filesystem::path& file, const std::string& text) {
    EXPECT_EQ(result.exit_code, 1) << file << '\n' << result.err;
    EXPECT_FALSE(result.timed_out) << file;
    EXPECT_THAT(result.err_lines(),
                ElementsAre(AllOf(StartsWith("millrace: error: stage '"), HasSubstr(file.string()), HasSubstr(text))));
  }
  void expect_refused(const std::filesystem::path& file, const std::string& text) const {
    expect_one_line(run(reader_for(file), file), file, text);
  }

  test::TempDirectory directory_;
};

// -------------------------------------------------------------------------------------------------------- one bad file

TEST_F(BadReads, PodThatIsBeingWritten) {
  const std::string whole = pod5_of(made_reads({1000, 2000}));
  const auto end = whole.find("ARROW1", 100) + 6;  // of the table of signal, which comes first
  const auto file = directory_.write("growing.pod5", whole.substr(0, end));
  expect_refused(file, "offset " + std::to_string(end - 8) +
                           ": the POD5 file is not complete: it does not end in the signature; it was cut off, or is "
                           "being written");
}

TEST_F(BadReads, Fast5ThatIsOpenForWritingInAnotherProcess) {
  const auto file = directory_ / "growing.fast5";
  io::Hdf5Writer writer(file);
  writer.set_attribute("/", {"file_version", std::string("2.2")});
  expect_refused(file, "is open for writing in another process");
}

TEST_F(BadReads, BlowThatIsBeingWritten) {
  const std::string whole = test::slow5_file({}, test::slow5_reads());
  const std::uint64_t end = whole.size() - io::kBlow5EndMark.size();
  const auto file = directory_.write("growing.blow5", whole.substr(0, end));
  expect_refused(file, "offset " + std::to_string(end) + ": has no end mark: it is cut off, or still being written");
}

TEST_F(BadReads, SlowTextThatIsBeingWritten) {
  const std::string whole = test::slow5_file({true, {}, {}}, test::slow5_reads());
  const auto file = directory_.write("growing.slow5", whole.substr(0, whole.size() - 7));
  expect_refused(file, "is cut off: its last line has no end");
}

TEST_F(BadReads, FilesOfAnotherFormatThanTheirNamesSay) {
  const std::string pod5 = pod5_of(made_reads({100}));
  const std::string blow5 = test::slow5_file({}, test::slow5_reads());
  expect_refused(directory_.write("a.fast5", pod5), "offset 0: is not an HDF5 file; it starts like POD5");
  expect_refused(directory_.write("b.fast5", blow5), "offset 0: is not an HDF5 file; it starts like BLOW5");
  expect_refused(directory_.write("c.pod5", blow5), "offset 0: is not a POD5 file; it starts like BLOW5");
  expect_refused(directory_.write("d.pod5", "\x89HDF\r\n\x1A\n" + std::string(100, 'x')),
                 "offset 0: is not a POD5 file; it starts like HDF5");
  expect_refused(directory_.write("e.blow5", pod5),
                 "offset 0: is neither a BLOW5 nor a SLOW5 file; it starts like POD5");
  expect_refused(directory_.write("f.pod5", "\x1F\x8B\x08\x08 a gzip file"), "it starts like gzip");
}

TEST_F(BadReads, EmptyFiles) {
  expect_refused(directory_.write("a.fast5", ""), "offset 0: is empty, not an HDF5 file");
  expect_refused(directory_.write("a.pod5", ""), "offset 0: is empty, not a POD5 file");
  expect_refused(directory_.write("a.blow5", ""), "is empty");
}

/// A frame that stands for `bytes` zeros.
std::string zstd_of_zeros(std::uint64_t bytes) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setPledgedSrcSize(context, bytes);
  const std::string zeros(1 << 20, '\0');
  std::string frame;
  std::string part(ZSTD_CStreamOutSize(), '\0');
  for (std::uint64_t done = 0; done < bytes; done += zeros.size()) {
    const auto mode = done + zeros.size() == bytes ? ZSTD_e_end : ZSTD_e_continue;
    ZSTD_inBuffer in{zeros.data(), zeros.size(), 0};
    for (std::size_t left = 1; in.pos < in.size || (mode == ZSTD_e_end && left != 0);) {
      ZSTD_outBuffer out{part.data(), part.size(), 0};
      left = ZSTD_compressStream2(context, &out, &in, mode);
      frame.append(part, 0, out.pos);
    }
  }
  ZSTD_freeCCtx(context);
  return frame;
}

/// A BLOW5 file of one record, which is this zstd frame; and where the record is.
std::pair<std::string, std::size_t> blow5_of(const std::string& frame) {
  std::string file = test::slow5_file({false, io::Slow5Packing::zstd, io::Slow5SignalCoding::svb_zd}, {});
  const std::size_t at = file.size() - io::kBlow5EndMark.size();
  const std::uint64_t length = frame.size();
  file.insert(at, std::string(reinterpret_cast<const char*>(&length), sizeof length) + frame);
  return {file, at};
}

TEST_F(BadReads, BlowRecordThatClaimsMoreThanItsBytesCanHoldIsRefusedUnopened) {
  std::string frame = zstd_of_zeros(std::uint64_t{4} << 30);
  frame.at(12) = 4;  // of the eight bytes with the size, from 6 on: 2^50 bytes more
  const auto [file, at] = blow5_of(frame);
  expect_refused(directory_.write("bomb.blow5", file),
                 "offset " + std::to_string(at) + ": a record claims 1125904201809920 bytes in ");
}

/// What a frame of zeros may really stand for is not too much for the format, but for the memory that the run may have.
TEST_F(BadReads, BlowRecordThatUnpacksToFarMoreThanMemoryIsRefusedByThePlan) {
  const auto path = directory_.write("bomb.blow5", blow5_of(zstd_of_zeros(std::uint64_t{4} << 30)).first);
  const CommandResult result = run("slow5_reader", path);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err_lines(), ElementsAre(HasSubstr("the plan needs ")));
}

TEST_F(BadReads, FastSignalThatClaimsMoreThanItsBytesCanHoldIsRefusedUnopened) {
  const auto file = directory_ / "bomb.fast5";
  const std::vector<std::byte> bytes(500);
  for (const io::Hdf5Filter& filter : {io::Hdf5Filter{io::kHdf5Deflate, {1}}, io::Hdf5Filter{32020, {0, 2, 1, 1}}}) {
    std::filesystem::remove(file);
    io::Hdf5Writer writer(file);
    writer.create_group("read_x");
    writer.create_group("read_x/Raw");
    writer.write_encoded("read_x/Raw/Signal", DType::i16, 2'000'000'000, std::span(&filter, 1), bytes);
    writer.close();
    expect_refused(file, "dataset 'read_x/Raw/Signal' claims 2000000000 samples in 500 bytes");
  }
}

TEST_F(BadReads, PodRowThatClaimsMoreThanItsBytesCanHoldIsRefusedUnopened) {
  std::string file = pod5_of(made_reads({0x01020304 % 60'000}));
  // The column of sample counts of the only row: the count stands once more in the table of reads, behind it.
  const std::uint32_t count = 0x01020304 % 60'000;
  const std::uint32_t claimed = 0x7FFFFFF0;
  const auto at = file.find(std::string(reinterpret_cast<const char*>(&count), sizeof count));
  ASSERT_NE(at, std::string::npos);
  file.replace(at, sizeof claimed, reinterpret_cast<const char*>(&claimed), sizeof claimed);
  expect_refused(directory_.write("bomb.pod5", file), "row 0 of the signal claims 2147483632 samples in ");
}

// ---------------------------------------------------------------------------------------------------- one among many

TEST_F(BadReads, AnEmptyFileAmongTwoThousandGoodOnesFailsTheRunOrIsLeftOutAndCounted) {
  const std::string good = pod5_of(made_reads({100}));
  for (int i = 0; i < 2000; ++i) directory_.write("in/" + std::to_string(i) + ".pod5", good);
  const auto bad = directory_.write("in/1234.pod5", "");
  expect_one_line(run("pod5_reader", "in"), bad, "1234.pod5, offset 0: is empty, not a POD5 file");

  const auto report = directory_ / "r.json";
  const CommandResult skipped = run("pod5_reader", "in", "on_bad_file = \"skip\"", {"--report", report.string()});
  EXPECT_EQ(skipped.exit_code, 3) << skipped.err;
  EXPECT_THAT(skipped.out, HasSubstr("skipped: " + bad.string() + ", offset 0: is empty"));
  const auto stored = nlohmann::json::parse(test::contents_of(report));
  EXPECT_EQ(stored.at("loss").at("written"), 1999);
  ASSERT_EQ(stored.at("loss").at("dropped").size(), 1U);
  EXPECT_EQ(stored.at("loss").at("dropped")[0].at("reason"), "bad file");
  EXPECT_EQ(stored.at("loss").at("dropped")[0].at("chunks"), 1);
}

TEST_F(BadReads, BadFast5FilesAreLeftOutWithTheirReasons) {
  const auto good = test::contents_of(test::source_dir() / "tests/io/fast5/single.fast5");
  for (int i = 0; i < 30; ++i) directory_.write("in/" + std::to_string(i) + ".fast5", good);
  const auto cut = directory_.write("in/7.fast5", good.substr(0, good.size() / 2));
  const auto other = directory_.write("in/20.fast5", pod5_of(made_reads({10})));
  expect_one_line(run("fast5_reader", "in"), cut, "cannot open as HDF5");
  const CommandResult skipped = run("fast5_reader", "in", "on_bad_file = \"skip\"");
  EXPECT_EQ(skipped.exit_code, 3) << skipped.err;
  EXPECT_THAT(skipped.out, AllOf(HasSubstr("skipped: " + cut.string()),
                                 HasSubstr("skipped: " + other.string() + ", offset 0: is not an HDF5 file")));
}

// ----------------------------------------------------------------------------------- the damaged files of shared/data

/// Why each is refused.
const std::map<std::string, const char*> kDamaged{
    {"pod5/bc_err_empty_pod5.pod5", "offset 0: is not a POD5 file"},
    {"pod5/bc_err_not_a_pod5.pod5", "offset 0: is not a POD5 file"},
    {"pod5/derived/trunc_half.pod5", "offset 48404: the POD5 file is not complete"},
    {"pod5/derived/trunc_tail8.pod5", "offset 96808: the POD5 file is not complete"},
    {"pod5/derived/bad_signature.pod5", "offset 0: is not a POD5 file"},
    {"pod5/derived/crlf_mangled.pod5", "offset 0: is not a POD5 file"},
    {"pod5/derived/huge_footer_len.pod5", "offset 96792: the POD5 file is damaged: its footer claims 1099511627776"},
    {"pod5/derived/bad_arrow_tail.pod5", "offset 82876: the Arrow table is damaged"},
    {"pod5/derived/embedded_len_past_eof.pod5", "offset 96560: the POD5 file is damaged: its footer puts a table of "},
    {"pod5/derived/signal_zstd_magic_broken.pod5", "a row of signal is damaged: it is no zstd frame"},
    {"blow5/s5l_err_no_eof.blow5", "offset 120726: has no end mark"},
    {"blow5/s5t_bad_exp_1_lossy_bad_eof.blow5", "offset "},
    {"blow5/s5t_bad_zlib_svb-zd_multi_rg_v0.2.0_bad_hdr_len.blow5", "offset "},
    {"blow5/s5t_duplicate_read.blow5", "occurs twice"},
    {"blow5/s5t_exp_1_lossless_zlib_ex_zd.blow5", "offset 14: "},
};

class DamagedReads : public BadReads, public testing::WithParamInterface<std::string> {};

TEST_P(DamagedReads, AreRefusedInOneLineWithFileAndOffset) {
  const auto file = test::test_data() / GetParam();
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  expect_refused(file, kDamaged.at(GetParam()));
  expect_refused(file, file.string() + ", offset ");
}

/// VBZ has no checksum: what is wrong inside a good frame cannot be seen.
TEST_P(DamagedReads, AreLeftOutAndCountedWhereTheirIndexShowsTheDamage) {
  const auto file = test::test_data() / GetParam();
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  const CommandResult result = run(reader_for(file), file, "on_bad_file = \"skip\"");
  const bool in_the_signal = GetParam().find("zstd_magic") != std::string::npos;
  EXPECT_EQ(result.exit_code, in_the_signal ? 1 : 3) << result.err;
  EXPECT_EQ(result.out.find("skipped: " + file.string()) == std::string::npos, in_the_signal) << result.out;
}

std::vector<std::string> damaged() {
  std::vector<std::string> names;
  for (const auto& [name, message] : kDamaged) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedReads, testing::ValuesIn(damaged()),
                         [](const auto& name) { return "Number" + std::to_string(name.index); });

}  // namespace
}  // namespace millrace
