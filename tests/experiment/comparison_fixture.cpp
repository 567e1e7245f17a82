#include "tests/experiment/comparison_fixture.h"

#include <array>

#include "pipeline/experiment/schedule.h"

namespace millrace::test {
namespace {

constexpr std::uint32_t kBlocks = 6;
constexpr double kMib = 1ULL << 20;

ComparisonRun run_of(std::size_t arm, std::uint32_t block, std::uint32_t order) {
  // Small differences that no arm has to itself.
  constexpr std::array<std::array<double, kBlocks>, 4> kNoise{{{1.000, 1.012, 0.991, 1.006, 0.997, 1.003},
                                                               {1.004, 1.001, 0.998, 1.003, 1.002, 0.996},
                                                               {1.101, 1.109, 1.094, 1.103, 1.096, 1.108},
                                                               {1.003, 1.008, 0.993, 1.009, 0.992, 1.005}}};
  ComparisonRun run;
  run.block = block;
  run.order = order;
  run.bytes = 1ULL << 30;
  run.chunks = 256;
  run.rate = 500 * kMib * kNoise.at(arm).at(block);
  run.wall_ns = static_cast<std::int64_t>(static_cast<double>(run.bytes) / run.rate * 1e9);
  run.spent_ns = run.wall_ns + 400'000'000;
  run.cache_resident_before = 0;
  run.cache_resident_at_read = 0.001;
  run.verdict = arm == 2 ? "compute:work" : "io-read:read";
  run.confidence = "sure";
  run.reader_limits = arm != 2;
  if (arm == 2) run.reading_cannot_help = "any read setting, be it prefetch advice: work never starved";
  run.outputs = {{"/data/out.raw", 1ULL << 30, digest('a')}};
  run.mechanism = {1.25,   0.61,   0.42, arm == 2 ? 0.998 : -1, 1ULL << 20, 0.31, 0.02, "buffered", "",
                   "work", "read", 0.6};
  if (arm == 2) {
    run.mechanism.waiting = "read";
    run.mechanism.cause = "work";
    run.mechanism.waited_share = 0.35;
  }
  return run;
}

}  // namespace

std::string digest(char digit) { return std::string(64, digit); }

ComparisonReport small_comparison() {
  ComparisonReport report;
  report.name = "advice";
  report.config = "configs/experiments/advice.toml";
  report.config_sha256 = digest('c');
  report.config_json = R"({"pipeline":{"name":"advice"}})";
  report.command = {"millrace", "compare", "configs/experiments/advice.toml"};
  report.started = "2026-12-01T10:00:00Z";
  report.environment.host = "bench1";
  report.environment.kernel = "Linux 6.1.0";
  report.environment.cpus = 2;
  report.environment.memory_bytes = 8ULL << 30;
  report.environment.millrace_version = "0.1.0";
  report.seed = 7;
  report.overrides = {"work.busy=1 ms"};
  report.design.blocks = kBlocks;
  report.arms = {{"advice=none", {"read.via.advice=none"}, {}, {}, {}},
                 {"advice=none (again)", {"read.via.advice=none"}, {}, {}, {}},
                 {"advice=willneed", {"read.via.advice=willneed"}, {}, {}, {}},
                 {"advice=sequential", {"read.via.advice=sequential"}, {}, {}, {}}};
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    report.blocks.push_back(block_order(report.seed, block, report.arms.size()));
    std::uint32_t order = 0;
    for (const std::size_t arm : report.blocks.back()) report.arms[arm].runs.push_back(run_of(arm, block, order++));
  }
  ComparisonRun& warm = report.arms[3].runs[2];
  warm.excluded = true;
  warm.cache_resident_before = 0.37;
  warm.reason = "37.0 % of the input was in the page cache before the run, not at most 1 %";
  report.arms[3].runs[4].mechanism.transport_refused = "direct";
  complete_comparison(report);
  return report;
}

}  // namespace millrace::test
