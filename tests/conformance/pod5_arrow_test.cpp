// The tables of a written POD5 file, read by the npm package apache-arrow. Skips where node or the package is not here;
// with `npm install apache-arrow` in a directory, MILLRACE_NODE_DIRECTORY names that directory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "io/pod5_footer.h"
#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/pod5_files.h"
#include "tests/support/scripted_io.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Pod5ByApacheArrow : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kNode)) GTEST_SKIP() << "there is no " << kNode;
    if (read_table("").exit_code != 0) {
      GTEST_SKIP() << "node does not find apache-arrow; MILLRACE_NODE_DIRECTORY can say where node_modules is";
    }
  }

  /// What the script prints of an Arrow file; it only loads the package when there is none.
  static test::CommandResult read_table(const std::string& file) {
    const char* const directory = std::getenv("MILLRACE_NODE_DIRECTORY");
    std::vector<std::string> arguments{test::source_dir().string() + "/tests/conformance/read_arrow.js", file};
    if (directory != nullptr) arguments.emplace_back(directory);
    test::Command::Settings settings;
    settings.program = kNode;
    return test::Command(arguments, settings).wait();
  }

  /// The lines: types by column, then a row each.
  std::vector<std::string> lines_of(const std::string& file, io::Extent table) const {
    const auto path = directory_.write("table.arrow", file.substr(table.offset, table.length));
    const auto result = read_table(path.string());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> lines;
    std::istringstream text(result.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  static constexpr const char* kNode = "/usr/bin/node";
  test::TempDirectory directory_;
};

TEST_F(Pod5ByApacheArrow, ReadsTheReadsAsTheyWereGiven) {
  io::Pod5Writer::Settings settings;
  settings.row_samples = 100;
  settings.batch_reads = 2;
  const std::string file = test::pod5_of(test::made_reads({150, 0, 20}), settings);
  test::ScriptedReader reader(file);
  const auto lines = lines_of(file, *io::read_pod5_footer(reader).reads);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0],
            R"({"read_id":"FixedSizeBinary[16]","signal":"List<Uint64>","read_number":"Uint32","start":"Uint64",)"
            R"("median_before":"Float32","num_minknow_events":"Uint64","tracked_scaling_scale":"Float32",)"
            R"("tracked_scaling_shift":"Float32","predicted_scaling_scale":"Float32",)"
            R"("predicted_scaling_shift":"Float32","num_reads_since_mux_change":"Uint32",)"
            R"("time_since_mux_change":"Float32","num_samples":"Uint64","channel":"Uint16","well":"Uint8",)"
            R"("pore_type":"Dictionary<Int16, Utf8>","calibration_offset":"Float32","calibration_scale":"Float32",)"
            R"("end_reason":"Dictionary<Int16, Utf8>","end_reason_forced":"Bool",)"
            R"("run_info":"Dictionary<Int16, Utf8>","open_pore_level":"Float32"})");
  EXPECT_EQ(lines[1],
            R"({"read_id":"00000000111142228333000000000001","signal":["0","1"],"read_number":101,)"
            R"("start":"1000000000000","median_before":200.75,"num_minknow_events":"7","tracked_scaling_scale":2,)"
            R"("tracked_scaling_shift":3,"predicted_scaling_scale":4,"predicted_scaling_shift":5,)"
            R"("num_reads_since_mux_change":1,"time_since_mux_change":0.5,"num_samples":"150","channel":2,"well":2,)"
            R"("pore_type":"R10.4.1","calibration_offset":13.5,"calibration_scale":0.1761474609375,)"
            R"("end_reason":"unblock_mux_change","end_reason_forced":true,"run_info":"run-a",)"
            R"("open_pore_level":230.75})");
  EXPECT_THAT(lines[2], HasSubstr(R"("signal":[],)"));
  EXPECT_THAT(lines[3], HasSubstr(R"("signal":["2"],)"));
}

TEST_F(Pod5ByApacheArrow, ReadsTheRuns) {
  const std::string file = test::pod5_of(test::made_reads({10, 10}));
  test::ScriptedReader reader(file);
  const auto lines = lines_of(file, *io::read_pod5_footer(reader).run_info);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], HasSubstr(R"("acquisition_start_time":"Timestamp<MILLISECOND, UTC>")"));
  EXPECT_THAT(lines[0], HasSubstr(R"("tracking_id":"Map<{key:Utf8, value:Utf8}>")"));
  EXPECT_THAT(lines[1], HasSubstr(R"({"acquisition_id":"run-a","acquisition_start_time":1557745903000,"adc_max":4095,)"
                                  R"("adc_min":-4096,)"));
  EXPECT_THAT(lines[2], HasSubstr(R"("acquisition_id":"run-b")"));
}

TEST_F(Pod5ByApacheArrow, ReadsTheSignal) {
  io::Pod5Writer::Settings settings;
  settings.compress = false;
  settings.row_samples = 2;
  std::vector<test::MadeRead> reads = test::made_reads({0});
  reads[0].samples = {5, -6, 7};
  const std::string plain = test::pod5_of(reads, settings);
  test::ScriptedReader plain_reader(plain);
  const auto lines = lines_of(plain, *io::read_pod5_footer(plain_reader).signal);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[1], HasSubstr(R"("signal":[5,-6],"samples":2})"));
  EXPECT_THAT(lines[2], HasSubstr(R"("signal":[7],"samples":1})"));
  const std::string packed = test::pod5_of(reads);
  test::ScriptedReader packed_reader(packed);
  const auto packed_lines = lines_of(packed, *io::read_pod5_footer(packed_reader).signal);
  ASSERT_THAT(packed_lines, SizeIs(2));
  EXPECT_THAT(packed_lines[0], HasSubstr(R"("samples":"Uint32")"));
  EXPECT_THAT(packed_lines[1], HasSubstr(R"("signal":"28b52ffd)"));
}

}  // namespace
}  // namespace millrace
