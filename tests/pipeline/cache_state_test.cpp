#include "pipeline/cache_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

struct Row {
  std::string what;
  double before;
  std::int64_t device_bytes;
  bool in_memory;
  std::string state;
  std::string label;
};

/// A run that read all of an input of 100 MiB.
RunReport run_with(const Row& row) {
  RunReport report;
  report.cache.input_bytes = 100 * kMiB;
  report.cache.resident_before_fraction = row.before;
  report.cache.device_bytes = row.device_bytes;
  report.cache.in_memory = row.in_memory;
  StageReport& read = report.stages.emplace_back();
  read.role = Role::source;
  read.io.emplace();
  read.io->bytes = 100 * kMiB;
  return report;
}

TEST(CacheState, IsWhatResidencyAndDeviceSayTogether) {
  const std::vector<Row> rows{
      {"nothing cached, all from the device", 0, 100 << 20, false, "cold", "cold (0.0 % of the input was cached)"},
      {"the limits of cold", .01, 95 << 20, false, "cold", "cold (1.0 % of the input was cached)"},
      {"nothing cached, but the device did not deliver", 0, 94 << 20, false, "cold_unverified",
       "cold, unverified (0.0 % of the input was cached; the device delivered 94.0 MiB)"},
      {"nothing cached, on a network", 0, -1, false, "cold_unverified",
       "cold, unverified (0.0 % of the input was cached)"},
      {"mostly cached", .97, 3 << 20, false, "warm", "97 % warm: this run says nothing about your disk"},
      {"all cached, on a network", 1, -1, false, "warm", "100 % warm: this run says nothing about your disk"},
      {"a little cached", .3, 70 << 20, false, "warm", "30 % warm: this run says little about your disk"},
      {"cached, read with direct transfers", 1, 100 << 20, false, "bypassed", "100 % warm, but read from the device"},
      {"a file of somebody else", -1, 100 << 20, false, "unknown", "cache state of the input unknown"},
      {"tmpfs", 1, -1, true, "memory", "input in memory: this run says nothing about a disk"},
  };
  for (const auto& row : rows) {
    const RunReport report = run_with(row);
    EXPECT_EQ(name_of(cache_state(report)), row.state) << row.what;
    EXPECT_EQ(cache_label(report), row.label) << row.what;
  }
}

TEST(CacheState, MeasuresTheDeviceByWhatWasRead) {
  RunReport report = run_with({"", 0, 10 << 20, false, "", ""});
  report.stages[0].io->bytes = 10 * kMiB;  // a run that was stopped early
  EXPECT_EQ(cache_state(report), CacheState::cold);
  report.stages.clear();  // nobody counted: then all of the input
  EXPECT_EQ(cache_state(report), CacheState::unverified);
}

TEST(CacheState, OfARunWithoutInputFilesIsNotSpokenOf) {
  EXPECT_EQ(cache_label(RunReport{}), "");
  EXPECT_EQ(cache_state(RunReport{}), CacheState::unknown);
}

}  // namespace
}  // namespace millrace
