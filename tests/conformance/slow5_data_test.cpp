// Real SLOW5 and BLOW5 files (shared/data/blow5, where it is): every read of every good file, through every transport,
// is what another implementation read; every damaged file fails with one line that says where.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "io/transports.h"
#include "pipeline/config.h"
#include "pipeline/core/registry.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "stages/builtin.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using testing::HasSubstr;

std::filesystem::path data(const std::string& name) { return test::test_data() / "blow5" / name; }

/// By file: the rows "read_id samples sum min max sha256" that are expected, in order.
std::map<std::string, std::vector<std::string>> expected_rows() {
  std::map<std::string, std::vector<std::string>> rows;
  std::ifstream table(test::test_data() / "EXPECTED_reads.tsv");
  for (std::string line; std::getline(table, line);) {
    const auto tab = line.find('\t');
    const std::string file = line.substr(0, tab);
    if (!file.starts_with("blow5/")) continue;
    rows[file.substr(6)].push_back(line.substr(tab + 1, line.rfind('\t') - tab - 1));
  }
  return rows;
}

std::string config(const std::filesystem::path& input, const std::filesystem::path& output, const std::string& more) {
  return "[[stage]]\nname = 'read'\ntype = 'slow5_reader'\npath = '" + input.string() + "'\n" + more +
         "\n[[stage]]\nname = 'decode'\ntype = 'decode_signal'\nslots = 2\n[[stage]]\nname = 'qc'\n" +
         "type = 'signal_qc_writer'\npath = '" + output.string() + "'\n";
}

RunOutcome run_config(const std::string& text) {
  Registry registry;
  add_builtin_stages(registry);
  return run(prepare(load_config_text(text, "test.toml", {}), registry), {});
}

std::vector<std::string> rows_of(const std::filesystem::path& tsv) {
  std::ifstream table(tsv);
  std::vector<std::string> rows;
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) rows.push_back(line);
  return rows;
}

/// Damaged on purpose; the duplicate among them is readable, read by read.
const std::map<std::string, const char*> kDamaged{
    {"s5l_err_no_eof.blow5", "has no end mark"},
    {"s5t_bad_exp_1_lossy_bad_eof.blow5", "neither a record nor the end mark is in the last 5 bytes"},
    {"s5t_bad_zlib_svb-zd_multi_rg_v0.2.0_bad_hdr_len.blow5", "the header ends in the middle of a line"},
    {"s5t_duplicate_read.blow5", "occurs twice"},
    {"s5t_exp_1_lossless_zlib_ex_zd.blow5", "ex-zd is not supported"},
};

class Slow5Data : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data("bc_b1.blow5"))) GTEST_SKIP() << "there is no " << data("bc_b1.blow5");
  }
  test::TempDirectory directory_;
};

TEST_P(Slow5Data, EveryReadOfEveryGoodFileIsWhatIsExpected) {
  const auto expected = expected_rows();
  ASSERT_GE(expected.size(), 18U);
  const io::Transport& transport = *io::find_transport(GetParam());
  const io::Probe probe = transport.probe_read(data("bc_b1.blow5"));
  if (!probe.works) GTEST_SKIP() << probe.reason;
  for (const auto& [file, rows] : expected) {
    if (kDamaged.contains(file)) continue;
    const auto out = directory_ / "qc.tsv";
    const RunOutcome outcome = run_config(config(data(file), out, "via = { transport = '" + GetParam() + "' }"));
    ASSERT_EQ(outcome.report.status, "ok") << file << ": " << outcome.report.error;
    EXPECT_EQ(rows_of(out), rows) << file;
  }
}

std::vector<std::string> transports() {
  std::vector<std::string> names;
  for (const auto& transport : io::transports()) names.emplace_back(transport.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Transports, Slow5Data, testing::ValuesIn(transports()),
                         [](const auto& name) { return name.param; });

class Slow5Damage : public Slow5Data {};

TEST_P(Slow5Damage, IsOneLineWithFileAndOffset) {
  const auto error = test::error_of([&] { run_config(config(data(GetParam()), directory_ / "qc.tsv", "")); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr(kDamaged.at(GetParam())));
  EXPECT_THAT(error->what(), HasSubstr(data(GetParam()).string() + ", offset "));
  EXPECT_EQ(std::string(error->what()).find('\n'), std::string::npos);
  EXPECT_TRUE(directory_.names().empty());
}

TEST_P(Slow5Damage, IsLeftOutAndCountedWhenAsked) {
  const auto out = directory_ / "qc.tsv";
  const RunOutcome outcome = run_config(config(data(GetParam()), out, "on_bad_file = 'skip'"));
  EXPECT_EQ(outcome.report.status, "ok") << outcome.report.error;
  ASSERT_EQ(outcome.report.loss.dropped.size(), 1U);
  EXPECT_EQ(outcome.report.loss.dropped[0].stage, "read");
  EXPECT_GE(outcome.report.loss.dropped[0].chunks, 1U);
}

std::vector<std::string> damaged() {
  std::vector<std::string> names;
  for (const auto& [name, why] : kDamaged) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, Slow5Damage, testing::ValuesIn(damaged()), [](const auto& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

using Slow5Duplicates = Slow5Data;

TEST_P(Slow5Duplicates, ComeOnceEachWhenBadInputIsSkipped) {
  const auto out = directory_ / "qc.tsv";
  run_config(config(data("s5t_duplicate_read.blow5"), out, "on_bad_file = 'skip'"));
  auto expected = expected_rows().at("s5t_duplicate_read.blow5");
  std::set<std::string> seen;
  std::erase_if(expected,
                [&seen](const std::string& row) { return !seen.insert(row.substr(0, row.find('\t'))).second; });
  EXPECT_EQ(rows_of(out), expected);
}

INSTANTIATE_TEST_SUITE_P(Buffered, Slow5Duplicates, testing::Values("buffered"));

}  // namespace
}  // namespace millrace
