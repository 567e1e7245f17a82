#include "pipeline/report_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "pipeline/core/error.h"
#include "pipeline/differing_facts.h"
#include "pipeline/rate_interval.h"
#include "tests/pipeline/report_fixture.h"
#include "tests/support/places.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::full_report;
using test::ReportBuilder;
using test::Shares;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// Ten seconds of reading for computing, as `write_io` of the time of the writer leaves it.
RunReport run_of(double seconds, double write_io, std::uint64_t chunks_per_interval = 100) {
  const std::vector<Shares> stages{{"read", Role::source, .1, .2, 0, 0, 0, .7},
                                   {"decode", Role::transform, .6, 0, 0, 0, .4},
                                   {"write", Role::sink, .1, write_io, 0, 0, .9 - write_io}};
  RunReport report = ReportBuilder(stages).spend(100, seconds / 100, stages, chunks_per_interval).build();
  report.verdict.kind = "compute";
  report.verdict.stage = "decode";
  report.verdict.confidence = "sure";
  report.phases = {{"steady", 0, report.wall_ns, report.verdict}};
  report.environment.host = "lab-1";
  report.config_json = R"({"pipeline":{"name":"p","threads":2},"stage":[{"name":"read","via":{"advice":"none"}}]})";
  return report;
}

std::string golden(const std::string& name) {
  std::ifstream file(test::source_dir().string() + "/tests/pipeline/golden/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Another machine, another setting, and a writer that waits for its disk.
RunReport slower_run() {
  RunReport report = run_of(14, .5);
  report.environment.host = "lab-2";
  report.environment.paths = {{"/data", "xfs", "rw", 4096, "sdb"}};
  report.config_json = R"({"pipeline":{"name":"p","threads":2},"stage":[{"name":"read","via":{"advice":"willneed"}}]})";
  report.verdict = {"io-write", "write", "likely", {}, {}, "", 0, ""};
  return report;
}

RunReport first_run() {
  RunReport report = run_of(10, .2);
  report.environment.paths = {{"/data", "ext4", "rw", 128, "sda"}};
  return report;
}

TEST(ReportDifference, SaysWhatChangedAsTheGoldenFileHasIt) {
  EXPECT_EQ(to_text(difference_between(first_run(), slower_run())), golden("difference.txt"));
}

TEST(ReportDifference, KeepsToAHundredColumns) {
  for (const auto& [a, b] : {std::pair(first_run(), slower_run()), {full_report(), test::drifting_report()}}) {
    std::istringstream in(to_text(difference_between(a, b)));
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(ReportDifference, OfARunAndItselfIsNothing) {
  const RunDifference difference = difference_between(full_report(), full_report());
  EXPECT_THAT(difference.surroundings, IsEmpty());
  EXPECT_THAT(difference.config, IsEmpty());
  EXPECT_THAT(difference.changes, IsEmpty());
  EXPECT_DOUBLE_EQ(difference.ratio, 1);
  EXPECT_DOUBLE_EQ(difference.extra_s, 0);
  EXPECT_THAT(to_text(difference), StartsWith("surroundings: the same machine"));
  EXPECT_EQ(headline(difference), "Both took as long for the same input, to 1 %.");
}

TEST(ReportDifference, NamesTheStageThatTookTheTime) {
  const RunDifference difference = difference_between(first_run(), slower_run());
  EXPECT_NEAR(difference.ratio, 10.0 / 14, 1e-9);
  EXPECT_NEAR(difference.extra_s, 4, 1e-6);
  EXPECT_EQ(headline(difference),
            "The second took 4.00 s longer for the same input; most of it, 5.00 s, is write waiting for I/O (2.00 s -> "
            "7.00 s).");
}

TEST(ReportDifference, ComparesRunsOfDifferentSizePerInput) {
  RunReport half = run_of(5, .2, 50);
  half.name = "half";
  const RunDifference difference = difference_between(first_run(), half);
  EXPECT_NEAR(difference.ratio, 1, 1e-9);
  EXPECT_NEAR(difference.extra_s, 0, 1e-6);
  EXPECT_THAT(difference.changes, IsEmpty());
  EXPECT_THAT(difference.not_comparable, IsEmpty());
  EXPECT_NEAR(difference.stages[2].first->seconds[1], difference.stages[2].second->seconds[1], 1e-9);
}

TEST(ReportDifference, NamesStagesThatOnlyOneRunHas) {
  RunReport after = first_run();
  after.stages[2].name = "encode";
  after.links[1].to = "encode";
  const std::string text = to_text(difference_between(first_run(), after));
  EXPECT_THAT(text, HasSubstr("write   only in the first run\n"));
  EXPECT_THAT(text, HasSubstr("encode  only in the second run\n"));
  EXPECT_THAT(text, HasSubstr("decode -> encode  only in the second run"));
}

TEST(ReportDifference, SurvivesRunsWithoutTimeOrStages) {
  const RunDifference difference = difference_between(RunReport{}, RunReport{});
  EXPECT_THAT(to_text(difference), HasSubstr("There is nothing to compare"));
  EXPECT_TRUE(json::accept(to_json(difference)));
}

TEST(ReportDifference, IsWrittenAsJson) {
  const json written = json::parse(to_json(difference_between(first_run(), slower_run())));
  EXPECT_EQ(written["schema"], "millrace.difference/1");
  EXPECT_EQ(written["surroundings"][0], json({{"what", "host"}, {"first", "lab-1"}, {"second", "lab-2"}}));
  EXPECT_EQ(written["config"][0], json({{"what", "read.via.advice"}, {"first", "none"}, {"second", "willneed"}}));
  EXPECT_EQ(written["changes"][0]["stage"], "write");
  EXPECT_EQ(written["changes"][0]["part"], "io");
  EXPECT_NEAR(written["ratio"].get<double>(), 10.0 / 14, 1e-9);
  EXPECT_EQ(written["windows"], json({20, 20}));
  EXPECT_TRUE(written["not_comparable"].is_null());
  EXPECT_NEAR(written["stages"][2]["second"]["share"]["io"].get<double>(), .5, 1e-6);
}

TEST(DifferingSurroundings, AreToldOneByOne) {
  const auto what = [](auto change) {
    RunReport after = full_report();
    change(after);
    std::vector<std::string> lines;
    for (const auto& fact : differing_surroundings(full_report(), after))
      lines.push_back(fact.what + ": " + fact.first + " | " + fact.second);
    return lines;
  };
  EXPECT_THAT(what([](RunReport&) {}), IsEmpty());
  EXPECT_THAT(what([](RunReport& r) { r.environment.kernel = "6.9"; }), ElementsAre("kernel: 6.1.0 | 6.9"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.cpus = 8; }), ElementsAre("cores: 2 | 8"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.memory_bytes /= 2; }), ElementsAre("memory: 16.0 GiB | 8.00 GiB"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.millrace_version = "9"; }), ElementsAre("millrace: 0.1.0 | 9"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.paths[0].file_system = "xfs"; }),
              ElementsAre("file system of /data/a.fast5: ext4 | xfs"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.paths[0].mount_options = "rw"; }),
              ElementsAre("mount options of /data/a.fast5: rw,relatime | rw"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.paths[0].read_ahead_kb = -1; }),
              ElementsAre("read-ahead of /data/a.fast5: 128 kB | -"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.paths[0].device = "sda"; }),
              ElementsAre("device of /data/a.fast5: vda | sda"));
  EXPECT_THAT(what([](RunReport& r) { r.environment.paths[0].path = "/data/b.fast5"; }),
              ElementsAre("path: /data/a.fast5 | /data/b.fast5"));
  EXPECT_THAT(what([](RunReport& r) { r.cache.resident_before_fraction = 1; }),
              ElementsAre("input in the cache: cold (0.4 % cached) | bypassed (100 % cached)"));
  EXPECT_THAT(what([](RunReport& r) { r.stages[1].busy.run_delay_ns = r.stages[1].busy.on_cpu_ns; }),
              ElementsAre(StartsWith("wait for cores: ")));
  EXPECT_THAT(what([](RunReport& r) { r.stages[0].io->transport_used = "mmap"; }),
              ElementsAre("transport of read: buffered | mmap"));
  EXPECT_THAT(what([](RunReport& r) { r.threads = 7; }), ElementsAre("workers: 2 | 7"));
  EXPECT_THAT(what([](RunReport& r) { r.memory.budget_bytes /= 2; }),
              ElementsAre("memory budget: 2.00 GiB | 1.00 GiB"));
}

std::vector<std::string> config_lines(const std::string& first, const std::string& second) {
  std::vector<std::string> lines;
  for (const auto& fact : differing_config(first, second))
    lines.push_back(fact.what + ": " + fact.first + " | " + fact.second);
  return lines;
}

TEST(DifferingConfig, IsAFlatListOfKeys) {
  EXPECT_THAT(config_lines(R"({"pipeline":{"threads":2},"stage":[{"name":"a","via":{"depth":4}},{"name":"b","x":1}]})",
                           R"({"pipeline":{"threads":3},"stage":[{"name":"a","via":{"depth":8}},{"name":"c","x":1}]})"),
              ElementsAre("pipeline.threads: 2 | 3", "a.via.depth: 4 | 8", "b.name: b | -", "b.x: 1 | -",
                          "c.name: - | c", "c.x: - | 1"));
  EXPECT_THAT(config_lines(R"({"a":{"l":[1,2],"t":true,"s":""}})", R"({"a":{"l":[1,3],"t":false,"s":"x"}})"),
              ElementsAre("a.l: [1,2] | [1,3]", "a.t: true | false", "a.s: \"\" | x"));
  EXPECT_THAT(config_lines(R"({"stage":[{"type":"x"}]})", R"({"stage":[{"type":"y"}]})"),
              ElementsAre("stage[0].type: x | y"));
  EXPECT_THAT(config_lines("no json", "{}"), IsEmpty());
}

TEST(IntervalOfRatio, CoversTheTruthOfNoisyRuns) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(100, 15);
  const auto noisy = [&] {
    const std::vector<Shares> stages{{"read", Role::source, .5}, {"write", Role::sink, .5}};
    ReportBuilder builder(stages);
    for (int i = 0; i < 200; ++i)
      builder.spend(1, .1, stages, static_cast<std::uint64_t>(std::llround(std::max(1.0, noise(random)))));
    RunReport report = builder.build();
    report.phases = {{"steady", 0, report.wall_ns, {}}};
    return report;
  };
  int covered = 0;
  for (int i = 0; i < 200; ++i) {
    const RunDifference difference = difference_between(noisy(), noisy());
    ASSERT_TRUE(difference.interval);
    covered += difference.interval->low <= 1 && 1 <= difference.interval->high ? 1 : 0;
  }
  EXPECT_GE(covered, 180);
  EXPECT_LT(covered, 200) << "an interval that always covers is no 95 % interval";
}

TEST(IntervalOfRatio, IsNothingWithoutEnoughSamples) {
  RunReport report = first_run();
  report.samples.resize(5);
  report.wall_ns = report.samples.back().at_ns;
  EXPECT_THAT(steady_rates(report), IsEmpty());
  EXPECT_FALSE(interval_of_ratio(report, first_run(), 1));
}

TEST(SteadyRates, LeaveOutWarmUpAndDrain) {
  RunReport report = first_run();
  report.phases = {{"warm_up", 0, 2'000'000'000, {}}, {"steady", 2'000'000'000, 9'000'000'000, {}}};
  EXPECT_THAT(steady_rates(report), testing::SizeIs(20));
  report.phases[1].end_ns = 2'600'000'000;
  EXPECT_THAT(steady_rates(report), IsEmpty());
}

TEST(CheckSlower, FailsByTheRatioAlone) {
  RunDifference difference = difference_between(first_run(), slower_run());
  EXPECT_TRUE(check_slower(difference, .05).failed);
  EXPECT_THAT(check_slower(difference, .05).reason,
              StartsWith("the second run is 28.6 % slower, the limit is 5 % slower"));
  EXPECT_FALSE(check_slower(difference, .3).failed);
  difference.interval = RatioInterval{.6, 1.2, 20, 20};
  EXPECT_TRUE(check_slower(difference, .05).failed);
  EXPECT_THAT(check_slower(difference, .05).reason, HasSubstr("this may be chance"));
  difference.interval = RatioInterval{.7, .72, 20, 20};
  EXPECT_THAT(check_slower(difference, .05).reason, Not(HasSubstr("chance")));
  difference.interval.reset();
  EXPECT_THAT(check_slower(difference, .05).reason, HasSubstr("not known"));
}

TEST(CheckSlower, LetsAFasterRunPass) {
  const RunDifference difference = difference_between(slower_run(), first_run());
  EXPECT_FALSE(check_slower(difference, 0).failed);
  EXPECT_THAT(check_slower(difference, 0).reason, HasSubstr("40.0 % faster"));
}

TEST(CheckSlower, RefusesWhatCannotBeCompared) {
  const auto refusal = [](auto change) -> std::string {
    RunReport after = first_run();
    change(after);
    try {
      check_slower(difference_between(first_run(), after), .05);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](RunReport&) {}), "");
  EXPECT_THAT(refusal([](RunReport& r) { r.status = "failed"; }), HasSubstr("the second run is 'failed'"));
  EXPECT_THAT(refusal([](RunReport& r) { r.status = "interrupted"; }), HasSubstr("'interrupted'"));
  EXPECT_THAT(refusal([](RunReport& r) { r.wall_ns = 0; }), HasSubstr("delivered nothing"));
  EXPECT_THAT(refusal([](RunReport& r) { r.stages[0].bytes_out = 0; }), HasSubstr("only one of the runs counts bytes"));
  EXPECT_THAT(refusal([](RunReport& r) { r.stages[0].bytes_out /= 11; }), HasSubstr("a tenth"));
}

TEST(CheckSlower, OfRunsWithoutBytesWantsAsManyChunks) {
  RunReport before = first_run();
  before.stages[0].bytes_out = 0;
  RunReport after = before;
  EXPECT_EQ(difference_between(before, after).unit, "1000 chunks");
  EXPECT_THAT(difference_between(before, after).not_comparable, IsEmpty());
  after.stages[0].chunks_out += 1;
  EXPECT_THAT(difference_between(before, after).not_comparable, HasSubstr("10000 and 10001 chunks"));
}

TEST(ParseSlowerLimit, TakesPercentAndFraction) {
  EXPECT_EQ(parse_slower_limit("5%"), .05);
  EXPECT_EQ(parse_slower_limit("5 %"), .05);
  EXPECT_EQ(parse_slower_limit("0.05"), .05);
  EXPECT_EQ(parse_slower_limit("0"), 0);
  EXPECT_EQ(parse_slower_limit("2.5%"), .025);
  for (const char* wrong : {"", "%", "5", "100%", "1", "-5%", "5%%", "5  %", "five", "nan", "inf", "0.05x", " 5%"})
    EXPECT_FALSE(parse_slower_limit(wrong)) << wrong;
}

}  // namespace
}  // namespace millrace
