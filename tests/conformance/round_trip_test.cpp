// FAST5 -> POD5 -> BLOW5 -> POD5: every sample, and everything that both formats of a step can say of a read and of its
// run. The table of what that is stands in io/README.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/hdf5_format.h"
#include "io/run_info.h"
#include "pipeline/config.h"
#include "pipeline/core/registry.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "stages/builtin.h"
#include "stages/decode_signal.h"
#include "stages/fast5_reader.h"
#include "stages/pod5_reader.h"
#include "stages/slow5_reader.h"
#include "tests/support/pod5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::options_of;

struct Read {
  std::vector<std::int16_t> samples;
  Attributes attributes;
};
using Reads = std::map<std::string, Read>;  // by id

std::unique_ptr<Source> reader_of(const std::filesystem::path& file) {
  const Options options = options_of({{"path", file.string()}});
  if (file.extension() == ".fast5") return std::make_unique<Fast5Reader>(options);
  if (file.extension() == ".pod5") return std::make_unique<Pod5Reader>(options);
  return std::make_unique<Slow5Reader>(options);
}

Reads reads_of(const std::filesystem::path& file) {
  const auto reader = reader_of(file);
  DecodeSignal decode(options_of({}));
  decode.prepare(reader->prepare());
  Reads reads;
  for (std::uint64_t index = 0; auto chunk = reader->produce(index); ++index) {
    const auto decoded = decode.process(std::move(*chunk));
    const std::string id(*decoded->attributes().text("read_id"));
    EXPECT_TRUE(reads.try_emplace(id, Read{test::values_of<std::int16_t>(*decoded), decoded->attributes()}).second)
        << id;
  }
  return reads;
}

void convert(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::map<std::string, std::string> readers{
      {".fast5", "fast5_reader"}, {".pod5", "pod5_reader"}, {".blow5", "slow5_reader"}};
  const std::string writer = to.extension() == ".pod5" ? "pod5_writer'\n" : "slow5_writer'\nread_groups = 8\n";
  Registry registry;
  add_builtin_stages(registry);
  const std::string config = "[[stage]]\nname = 'read'\ntype = '" + readers.at(from.extension()) + "'\npath = '" +
                             from.string() + "'\n[[stage]]\nname = 'decode'\ntype = 'decode_signal'\nslots = 2\n" +
                             "[[stage]]\nname = 'write'\ntype = '" + writer + "path = '" + to.string() + "'\n";
  const RunOutcome outcome = run(prepare(load_config_text(config, "test.toml", {}), registry), {});
  ASSERT_EQ(outcome.report.status, "ok") << outcome.report.error;
}

/// What says how a read was stored, and not what it is.
bool is_of_storage(const std::string& name) {
  static const std::set<std::string> names{"coding", "pieces", "piece_samples", "duration", "read_group"};
  return names.contains(name);
}

/// Numbers that POD5 keeps as floats are equal to seven digits only after they came from FAST5.
void expect_near(const AttributeValue& got, const AttributeValue& wanted, const std::string& name) {
  const auto* const number = std::get_if<double>(&wanted);
  if (number == nullptr) {
    EXPECT_EQ(got, wanted) << name;
    return;
  }
  ASSERT_TRUE(std::holds_alternative<double>(got)) << name;
  EXPECT_NEAR(std::get<double>(got), *number, 2e-7 * std::abs(*number)) << name;
}

enum class Numbers { exact, floats };

/// Every sample of `wanted` is in `got`, and every attribute, with the facts of the run; nothing else when `exact`.
void expect_kept(const Reads& got, const Reads& wanted, Numbers numbers) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [id, read] : wanted) {
    SCOPED_TRACE(id);
    ASSERT_TRUE(got.contains(id));
    const Read& other = got.at(id);
    EXPECT_EQ(other.samples, read.samples);
    for (const auto& [name, value] : read.attributes.entries()) {
      if (is_of_storage(name) || name == "run_info") continue;
      const auto* const found = other.attributes.find(name);
      ASSERT_NE(found, nullptr) << name;
      if (numbers == Numbers::exact) {
        EXPECT_EQ(*found, value) << name;
      } else {
        expect_near(*found, value, name);
      }
    }
    const auto here = io::parse_run_info(read.attributes.text("run_info").value_or(""));
    const auto there = io::parse_run_info(other.attributes.text("run_info").value_or(""));
    for (const auto& [name, value] : here) {
      const auto found = there.find(name);
      ASSERT_NE(found, there.end()) << name;
      EXPECT_EQ(found->second, value) << name;
    }
  }
}

void expect_equal(const Reads& got, const Reads& wanted) {
  expect_kept(got, wanted, Numbers::exact);
  expect_kept(wanted, got, Numbers::exact);
}

class RoundTrip : public testing::Test {
 protected:
  void expect_round_trip(const std::filesystem::path& fast5) const {
    const auto first = directory_ / "first.pod5";
    const auto middle = directory_ / "middle.blow5";
    const auto last = directory_ / "last.pod5";
    const auto direct = directory_ / "direct.blow5";
    convert(fast5, first);
    convert(first, middle);
    convert(middle, last);
    convert(fast5, direct);
    const Reads source = reads_of(fast5);
    expect_kept(reads_of(first), source, Numbers::floats);
    expect_kept(reads_of(direct), source, Numbers::exact);
    const Reads pod5 = reads_of(first);
    expect_kept(reads_of(middle), pod5, Numbers::exact);
    expect_equal(reads_of(last), pod5);
    expect_kept(reads_of(last), source, Numbers::floats);
  }

  test::TempDirectory directory_;
};

/// Reads of two runs, with everything that MinKNOW's files say, and one without signal.
void make_fast5(const std::filesystem::path& path) {
  io::Hdf5Writer writer(path);
  writer.set_attribute("/", {"file_version", std::string("2.2")});
  const std::vector<std::size_t> lengths{1000, 0, 1, 250'000, 8, 4321};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const std::string id = test::made_id(i + 1);
    const std::string group = "read_" + id;
    const std::string run = i % 2 == 0 ? "run-even" : "run-odd";
    writer.create_group(group, std::vector<io::Hdf5Attribute>{{"run_id", run}, {"pore_type", std::string("r" + run)}});
    const std::vector<std::string> reasons{"mux_change", "partial", "signal_positive"};
    writer.create_group(group + "/Raw",
                        std::vector<io::Hdf5Attribute>{{"read_id", id},
                                                       {"duration", static_cast<std::int64_t>(lengths[i]), DType::u32},
                                                       {"start_time", 3'000'000'000 * number, DType::u64},
                                                       {"start_mux", number % 4 + 1, DType::u8},
                                                       {"read_number", 100 + number, DType::i32},
                                                       {"median_before", 200.1 + static_cast<double>(number)},
                                                       {"end_reason", reasons[i % reasons.size()]}});
    const auto signal = test::made_signal(i, lengths[i]);
    writer.write_contiguous(group + "/Raw/Signal", DType::i16, std::as_bytes(std::span(signal)));
    writer.create_group(group + "/channel_id", std::vector<io::Hdf5Attribute>{{"channel_number", std::to_string(i + 1)},
                                                                              {"digitisation", 8192.0},
                                                                              {"offset", 0.1 + static_cast<double>(i)},
                                                                              {"range", 1440.8011474609375},
                                                                              {"sampling_rate", 4000.0}});
    writer.create_group(group + "/tracking_id",
                        std::vector<io::Hdf5Attribute>{
                            {"run_id", run},
                            {"asic_temp", 31.25},
                            {"device_id", std::string("MN1")},
                            {"device_type", std::string("minion")},
                            {"exp_script_name", std::string("script of " + run)},
                            {"exp_start_time", std::string(i % 2 == 0 ? "2019-05-13T11:11:43Z" : "1476282032")},
                            {"flow_cell_id", std::string("FAB42578")},
                            {"flow_cell_product_code", std::string("FLO-MIN106")},
                            {"protocol_group_id", std::string("group")},
                            {"protocol_run_id", std::string("0eea09e2-7412-488c-a1c2-30f806bcdf8f")},
                            {"sample_id", std::string("sample of " + run)},
                            {"version", std::string("3.6.0")}});
    writer.create_group(group + "/context_tags",
                        std::vector<io::Hdf5Attribute>{{"experiment_type", std::string("genomic_dna")},
                                                       {"sample_frequency", std::string("4000")},
                                                       {"sequencing_kit", std::string("sqk-lsk109")}});
  }
  writer.close();
}

TEST_F(RoundTrip, KeepsWhatAGeneratedFileSays) {
  make_fast5(directory_ / "made.fast5");
  expect_round_trip(directory_ / "made.fast5");
}

/// The names under which POD5 has what FAST5 calls otherwise.
TEST_F(RoundTrip, FillsTheRunTableOfPod5FromFast5) {
  make_fast5(directory_ / "made.fast5");
  convert(directory_ / "made.fast5", directory_ / "made.pod5");
  for (const auto& [id, read] : reads_of(directory_ / "made.pod5")) {
    const auto info = io::parse_run_info(*read.attributes.text("run_info"));
    const std::string run(*read.attributes.text("run_id"));
    const io::RunInfo expected{{"acquisition_id", run},
                               {"acquisition_start_time", run == "run-even" ? "1557745903000" : "1476282032000"},
                               {"adc_max", "4095"},
                               {"adc_min", "-4096"},
                               {"experiment_name", "group"},
                               {"flow_cell_id", "FAB42578"},
                               {"flow_cell_product_code", "FLO-MIN106"},
                               {"protocol_name", "script of " + run},
                               {"sample_id", "sample of " + run},
                               {"sample_rate", "4000"},
                               {"sequencer_position", "MN1"},
                               {"sequencer_position_type", "minion"},
                               {"sequencing_kit", "sqk-lsk109"}};
    for (const auto& [name, value] : expected) EXPECT_THAT(info, testing::Contains(testing::Pair(name, value))) << id;
  }
}

class RoundTripOfRealFiles : public RoundTrip, public testing::WithParamInterface<const char*> {};

TEST_P(RoundTripOfRealFiles, KeepsWhatTheFileSays) {
  const auto file = test::test_data() / GetParam();
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  expect_round_trip(file);
}

INSTANTIATE_TEST_SUITE_P(
    Files, RoundTripOfRealFiles,
    testing::Values("fast5/ofa_multi_read_analyses.fast5", "fast5/ofa_multi_read_batch_0.fast5",
                    "fast5/ofa_single_read.fast5", "fast5/ofa_single_v0.6_raw.fast5", "fast5/ofa_vbz_reads.fast5",
                    "fast5/ont_multi_fast5_vbz.fast5", "fast5/ont_multi_fast5_zip.fast5",
                    "basecall_truth/debian_uncalled_example_r9.4.fast5", "basecall_truth/read_ch228_file118.fast5",
                    "basecall_truth/"
                    "MINICOL228_20161012_FNFAB42578_MN17976_mux_scan_HG_52221_ch174_read172_strand.fast5"),
    [](const auto& name) { return "Number" + std::to_string(name.index); });

/// The same ten reads in POD5 as ONT's own software made it of the FAST5 file.
TEST(Fast5RunInfo, IsWhatPod5SaysOfTheSameRun) {
  const auto fast5 = test::test_data() / "fast5/ont_multi_fast5_zip.fast5";
  const auto pod5 = test::test_data() / "pod5/ont_multi_fast5_zip_v3.pod5";
  if (!std::filesystem::exists(pod5)) GTEST_SKIP() << "there is no " << pod5;
  expect_kept(reads_of(pod5), reads_of(fast5), Numbers::floats);
}

}  // namespace
}  // namespace millrace
