#include "io/pod5_run_table.h"

#include <gtest/gtest.h>

#include "io/pod5_runs.h"
#include "tests/support/scripted_io.h"

namespace millrace::io {
namespace {

TEST(MillisecondsOf, ReadsTheTimesThatFilesHave) {
  EXPECT_EQ(milliseconds_of("2019-05-13T11:11:43Z"), 1'557'745'903'000);
  EXPECT_EQ(milliseconds_of("2019-05-13 11:11:43.25+00:00"), 1'557'745'903'250);
  EXPECT_EQ(milliseconds_of("1970-01-01T00:00:00.001Z"), 1);
  EXPECT_EQ(milliseconds_of("1557745903000"), 1'557'745'903'000);
  for (const char* const nonsense : {"", "yesterday", "2019-02-30T00:00:00Z", "2019-05-13"}) {
    EXPECT_EQ(milliseconds_of(nonsense), 0) << nonsense;
  }
}

RunInfo written_and_read(const Pod5RunRow& run) {
  std::string bytes;
  write_pod5_run_table({run}, {}, [&bytes](std::span<const std::byte> more) {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  });
  test::ScriptedReader reader(bytes);
  const ArrowFile table(reader, {0, reader.size()});
  const ArrowBatch batch = table.batch(0, ArrowFile::Body::loaded);
  Pod5Runs runs;
  add_pod5_runs(table, batch, table.fields(), batch.columns, runs);
  return parse_run_info(runs.at(run.id)->info);
}

TEST(Pod5RunTable, KeepsWhatHasNoColumnInItsMaps) {
  const RunInfo info{{"flow_cell_id", "FAB1"}, {"asic_temp", "30.1"}, {"experiment_type", "rna"}};
  const RunInfo back = written_and_read({"r", info, 0, 0});
  EXPECT_EQ(back.at("flow_cell_id"), "FAB1");
  EXPECT_EQ(back.at("asic_temp"), "30.1");
  EXPECT_EQ(back.at("experiment_type"), "rna");
  EXPECT_EQ(back.at("acquisition_id"), "r");
}

TEST(Pod5RunTable, MakesTheConvertersRangeFromItsLevels) {
  const RunInfo back = written_and_read({"r", {}, 8192, 4000});
  EXPECT_EQ(back.at("adc_min"), "-4096");
  EXPECT_EQ(back.at("adc_max"), "4095");
  EXPECT_EQ(back.at("sample_rate"), "4000");
}

TEST(Pod5RunTable, TakesTheNamesOfFast5) {
  const RunInfo back = written_and_read({"r", {{"device_id", "MN1"}, {"exp_script_name", "p"}}, 0, 0});
  EXPECT_EQ(back.at("sequencer_position"), "MN1");
  EXPECT_EQ(back.at("protocol_name"), "p");
}

}  // namespace
}  // namespace millrace::io
