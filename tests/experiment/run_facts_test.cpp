#include "pipeline/experiment/run_facts.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

StageReport stage(const std::string& name, Role role, std::uint32_t slots = 1) {
  StageReport result;
  result.name = name;
  result.role = role;
  result.slots = slots;
  return result;
}

/// read -> work (two slots) -> write, 4 s for 2 GiB.
RunReport run_report() {
  RunReport report;
  report.wall_ns = 4 * kSecond;
  report.stages = {stage("read", Role::source), stage("work", Role::transform, 2), stage("write", Role::sink)};
  report.stages[0].bytes_out = 2ULL << 30;
  report.stages[0].chunks_out = 512;
  report.stages[0].busy.io_wait_ns = 3 * kSecond;
  report.stages[0].busy.on_cpu_ns = kSecond / 2;
  report.stages[1].busy.on_cpu_ns = kSecond;
  report.stages[1].busy.run_delay_ns = kSecond / 2;
  IoStats io;
  io.transport_requested = "direct";
  io.transport_used = "buffered";
  io.cache_hit_bytes = 77;
  io.advice.checked_bytes = 1000;
  io.advice.resident_bytes = 900;
  report.stages[0].io = io;
  report.links = {{"read", "work", 16, 1 << 20, 1.0, 16, 0, 0, 6 * kSecond, 0, 0, 0},
                  {"work", "write", 16, 1 << 20, 1.0, 16, 0, 0, 3 * kSecond, 0, 0, 0}};
  report.blame = {{"write", "read", 4 * kSecond}, {"work", "read", 6 * kSecond}, {"read", "work", kSecond / 10}};
  report.verdict.kind = "io-read";
  report.verdict.stage = "read";
  report.verdict.confidence = "sure";
  report.cache.resident_before_fraction = 0.003;
  return report;
}

TEST(RunFacts, TakesRateVerdictAndMechanism) {
  const ComparisonRun run = facts_of(run_report());
  EXPECT_EQ(run.bytes, 2ULL << 30);
  EXPECT_EQ(run.chunks, 512U);
  EXPECT_DOUBLE_EQ(run.rate, static_cast<double>(1ULL << 29));
  EXPECT_EQ(run.verdict, "io-read:read");
  EXPECT_EQ(run.confidence, "sure");
  EXPECT_DOUBLE_EQ(run.cache_resident_at_read, 0.003);
  EXPECT_DOUBLE_EQ(run.mechanism.io_wait_s, 3);
  EXPECT_DOUBLE_EQ(run.mechanism.io_wait_share, 0.75);
  EXPECT_DOUBLE_EQ(run.mechanism.starved_share, 0.75) << "6 s of two slots in 4 s";
  EXPECT_DOUBLE_EQ(run.mechanism.advice_resident, 0.9);
  EXPECT_EQ(run.mechanism.hit_bytes, 77U);
  EXPECT_DOUBLE_EQ(run.mechanism.cpu_s_per_gib, 0.75);
  EXPECT_DOUBLE_EQ(run.mechanism.run_delay_share, 0.25);
  EXPECT_EQ(run.mechanism.transport, "buffered");
  EXPECT_EQ(run.mechanism.transport_refused, "direct");
}

TEST(RunFacts, SaysWhoWaitedWhereReadingAndTheRestMeet) {
  const ComparisonRun run = facts_of(run_report());
  EXPECT_EQ(run.mechanism.waiting, "work") << "not 'write', which only waits behind it";
  EXPECT_EQ(run.mechanism.cause, "read");
  EXPECT_DOUBLE_EQ(run.mechanism.waited_share, 0.75);
}

TEST(RunFacts, CountsChunksWhereThereAreNoBytes) {
  RunReport report = run_report();
  report.stages[0].bytes_out = 0;
  const ComparisonRun run = facts_of(report);
  EXPECT_FALSE(counts_bytes(run));
  EXPECT_DOUBLE_EQ(run.rate, 128);
  EXPECT_LT(run.mechanism.cpu_s_per_gib, 0);
}

TEST(RunFacts, OfARunThatDeliveredNothingHaveNoRate) {
  RunReport report;
  EXPECT_EQ(facts_of(report).rate, 0);
  report = run_report();
  report.wall_ns = 0;
  EXPECT_EQ(facts_of(report).rate, 0);
}

TEST(RunFacts, ClearTheReaderOnlyWhenTheVerdictDoes) {
  struct Case {
    const char* kind;
    const char* stage;
    bool excused;
    bool limits;
  };
  for (const Case& one :
       {Case{"io-read", "read", false, true}, Case{"io-read", "work", false, true},
        Case{"source-paced", "read", true, true}, Case{"none", "", false, true}, Case{"compute", "read", false, true},
        Case{"compute", "work", true, false}, Case{"compute", "work", false, false},
        Case{"io-write", "write", true, false}, Case{"workers", "", true, false}, Case{"balanced", "", false, true},
        Case{"balanced", "", true, false}, Case{"link", "read -> work", false, true},
        Case{"link", "work -> write", false, false}}) {
    RunReport report = run_report();
    report.verdict.kind = one.kind;
    report.verdict.stage = one.stage;
    if (one.excused) report.verdict.cannot_help = {"a deeper link: x", "any read setting, be it y: z"};
    const ComparisonRun run = facts_of(report);
    EXPECT_EQ(run.reader_limits, one.limits) << one.kind << " " << one.stage;
    EXPECT_EQ(run.reading_cannot_help.empty(), !one.excused);
  }
}

}  // namespace
}  // namespace millrace
