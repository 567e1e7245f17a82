#include "io/pod5_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/pod5_files.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::made_reads;
using test::MadeRead;
using test::pod5_of;

std::string refusal(const std::vector<MadeRead>& reads) {
  const auto error = error_of([&] { pod5_of(reads); });
  return error ? error->what() : "";
}

TEST(Pod5Writer, SameReadsGiveTheSameBytesOthersAnotherFile) {
  const auto reads = made_reads({100, 200});
  EXPECT_EQ(pod5_of(reads), pod5_of(reads));
  const std::vector<MadeRead> other{test::made_read(9, 100)};
  EXPECT_NE(pod5_of(reads).substr(8, 16), pod5_of(other).substr(8, 16)) << "the mark";
}

/// What ONT's software asks of a file that it is to open.
TEST(Pod5Writer, WritesAllColumnsThatOntsSoftwareLooksFor) {
  test::ScriptedReader reader(pod5_of(made_reads({100})));
  const Pod5Footer footer = read_pod5_footer(reader);
  EXPECT_EQ(footer.version, "0.3.30");
  EXPECT_FALSE(footer.software.empty());
  EXPECT_EQ(footer.file_identifier.size(), 36U);
  EXPECT_EQ(footer.file_identifier[14], '4');
  const auto names = [&reader](Extent table) {
    const ArrowFile file(reader, table);
    std::string all;
    for (const auto& field : file.fields()) all += field.name + " ";
    return all;
  };
  EXPECT_EQ(names(*footer.signal), "read_id signal samples ");
  EXPECT_EQ(names(*footer.reads),
            "read_id signal read_number start median_before num_minknow_events tracked_scaling_scale "
            "tracked_scaling_shift predicted_scaling_scale predicted_scaling_shift num_reads_since_mux_change "
            "time_since_mux_change num_samples channel well pore_type calibration_offset calibration_scale end_reason "
            "end_reason_forced run_info open_pore_level ");
  EXPECT_EQ(names(*footer.run_info),
            "acquisition_id acquisition_start_time adc_max adc_min context_tags experiment_name flow_cell_id "
            "flow_cell_product_code protocol_name protocol_run_id protocol_start_time sample_id sample_rate "
            "sequencing_kit sequencer_position sequencer_position_type software system_name system_type tracking_id ");
  EXPECT_EQ(footer.signal->offset, 24U);
  for (const auto& table : {*footer.signal, *footer.reads, *footer.run_info}) EXPECT_EQ(table.offset % 8, 0U);
}

TEST(Pod5Writer, AllBatchesOfSignalButTheLastHaveTheSameLength) {
  Pod5Writer::Settings settings;
  settings.row_samples = 10;
  settings.batch_rows = 4;
  test::ScriptedReader reader(pod5_of(made_reads({35, 50, 1}), settings));
  const ArrowFile signal(reader, *read_pod5_footer(reader).signal);
  ASSERT_EQ(signal.batches(), 3U);
  EXPECT_EQ(signal.batch(0, ArrowFile::Body::left).rows, 4U);
  EXPECT_EQ(signal.batch(1, ArrowFile::Body::left).rows, 4U);
  EXPECT_EQ(signal.batch(2, ArrowFile::Body::left).rows, 2U);
}

TEST(Pod5Writer, RefusesWhatPod5CannotHold) {
  auto reads = made_reads({10});
  reads[0].attributes.set("read_id", std::string("read_1"));
  EXPECT_EQ(refusal(reads), "the read id 'read_1' is no UUID, which POD5 needs");
  reads = made_reads({10});
  reads.push_back(reads[0]);
  EXPECT_EQ(refusal(reads), "read " + test::made_id(1) + ": comes twice, which POD5 does not allow");
  reads = made_reads({10});
  reads[0].attributes.set("channel_number", std::int64_t{70'000});
  EXPECT_EQ(refusal(reads), "read " + test::made_id(1) + ": its channel_number does not fit into 16 bits");
  reads[0].attributes = {};
  EXPECT_EQ(refusal(reads), "needs the attribute 'read_id', which its input does not have");
}

}  // namespace
}  // namespace millrace::io
