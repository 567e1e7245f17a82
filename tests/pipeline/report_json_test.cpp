#include "pipeline/report_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "pipeline/complete_report.h"
#include "pipeline/core/error.h"
#include "pipeline/report_text.h"
#include "pipeline/verdict.h"
#include "tests/pipeline/report_fixture.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::drifting_report;
using test::full_report;
using testing::HasSubstr;

/// The message with which `text` is refused; empty when it is accepted.
std::string refusal(const std::string& text) {
  try {
    report_from_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(ReportJson, HasEveryKeyOfTheSchema) {
  const json report = json::parse(to_json(full_report()));
  EXPECT_EQ(report["schema"], "millrace.run/1");
  const auto has = [](const json& object, std::initializer_list<const char*> keys) {
    for (const char* key : keys) EXPECT_TRUE(object.contains(key)) << key << " in " << object.dump().substr(0, 60);
  };
  has(report, {"schema",      "name",   "status", "started",       "wall_s",  "config", "command",
               "environment", "stages", "links",  "closure_error", "verdict", "blame",  "phases",
               "stalls",      "cache",  "memory", "loss",          "series",  "outputs"});
  has(report["environment"], {"host", "kernel", "cpus", "memory_bytes", "millrace_version", "paths"});
  has(report["environment"]["paths"][0], {"path", "fs", "mount_options", "read_ahead_kb", "device", "max_sectors_kb",
                                          "rsize", "wsize", "direct_memory_alignment", "direct_offset_alignment"});
  const json& stage = report["stages"][0];
  has(stage, {"name", "type", "role", "slots", "chunks_in", "chunks_out", "bytes_in", "bytes_out", "time_s", "busy_s",
              "call_ns", "major_faults", "copies_bytes", "io"});
  has(stage["time_s"], {"busy", "starved", "blocked", "ready", "done"});
  has(stage["busy_s"], {"on_cpu", "io_wait", "run_delay", "other_wait"});
  has(stage["call_ns"], {"count", "p50", "p90", "p99", "max"});
  has(stage["io"], {"transport_requested", "transport_used", "calls", "bytes", "retries", "cache_hit_bytes",
                    "cache_miss_bytes", "advice", "fsync_s"});
  has(stage["io"]["advice"], {"kind", "scope", "window", "step", "calls", "errors", "resident_fraction"});
  has(report["links"][0], {"from", "to", "capacity_chunks", "capacity_bytes", "mean_chunks", "max_chunks",
                           "time_full_s", "time_empty_s", "starved_s", "blocked_s", "dropped"});
  has(report["verdict"], {"kind", "stage", "confidence", "evidence", "cannot_help", "second", "ceiling"});
  has(report["blame"][0], {"waiting", "cause", "seconds"});
  has(report["phases"][0], {"kind", "start_s", "end_s", "verdict"});
  has(json::parse(to_json(drifting_report()))["drift"][0],
      {"kind", "at_s", "before_rate", "after_rate", "unit", "before", "after"});
  has(report["stalls"][0], {"stage", "state", "seconds", "at_s", "chunk", "cause"});
  has(report["cache"],
      {"input_bytes", "resident_before_fraction", "resident_after_fraction", "evicted", "state", "device_read_bytes"});
  EXPECT_EQ(report["cache"]["state"], "cold");
  has(report["memory"],
      {"planned_bytes", "budget_bytes", "peak_rss_bytes", "allocations_after_warm_up", "bytes_copied_per_byte"});
  has(report["loss"], {"read", "written", "dropped", "failed", "in_flight"});
  has(report["series"], {"interval_s", "t", "stages", "links"});
  has(report["outputs"][0], {"path", "bytes"});
  EXPECT_EQ(report["config"]["pipeline"]["name"], "basecall");
  EXPECT_EQ(stage["role"], "source");
  EXPECT_EQ(report["verdict"]["kind"], "io-read");
  EXPECT_EQ(report["verdict"]["stage"], "read");
}

TEST(ReportJson, SumsCloseForTheReader) {
  const RunReport report = full_report();
  const json parsed = json::parse(to_json(report));
  for (const auto& stage : parsed["stages"]) {
    double states = 0;
    for (const auto& value : stage["time_s"]) states += value.get<double>();
    double parts = 0;
    for (const auto& value : stage["busy_s"]) parts += value.get<double>();
    EXPECT_NEAR(states, stage["slots"].get<double>() * parsed["wall_s"].get<double>(), 1e-7);
    EXPECT_NEAR(parts, stage["time_s"]["busy"].get<double>(), 1e-7);
  }
}

TEST(ReportJson, ThreadsAndChildProcessesOfAStageComeBack) {
  RunReport report = full_report();
  EXPECT_EQ(to_json(report).find("child_cpu_s"), std::string::npos);
  report.stages[1].own_threads = true;
  report.stages[1].child_cpu_ns = 1'234'567'891;
  const RunReport back = report_from_json(to_json(report));
  EXPECT_TRUE(back.stages[1].own_threads);
  EXPECT_EQ(back.stages[1].child_cpu_ns, 1'234'567'891);
  EXPECT_FALSE(back.stages[0].own_threads);
  EXPECT_THAT(to_text(report), HasSubstr("its child processes used 1.23 s of CPU time"));
}

TEST(ReportJson, SeriesAreSharesOfEachInterval) {
  const RunReport report = full_report();
  const json series = json::parse(to_json(report))["series"];
  ASSERT_EQ(series["t"].size(), 31U);
  EXPECT_NEAR(series["t"][0].get<double>(), .4, 1e-12);
  EXPECT_NEAR(series["t"][30].get<double>(), 12.41, 1e-12);
  EXPECT_EQ(series["stages"]["read"]["busy"].size(), 31U);
  EXPECT_NEAR(series["stages"]["read"]["busy"][5].get<double>(), .986, 1e-9);
  EXPECT_NEAR(series["stages"]["read"]["busy"][30].get<double>(), 0, 1e-9);
  EXPECT_NEAR(series["stages"]["decode"]["starved"][5].get<double>(), .669, 1e-9);
  EXPECT_NEAR(series["stages"]["read"]["blocked"][5].get<double>(), .014, 1e-9);
  EXPECT_NEAR(series["stages"]["decode"]["ready"][5].get<double>(), .019, 1e-9);
  EXPECT_EQ(series["links"]["read->decode"]["chunks"][5], 2);
}

TEST(ReportJson, WritesNullForWhatWasNotMeasured) {
  RunReport report = full_report();
  report.cache = {};
  report.stages[0].io->advice.checked_bytes = 0;
  report.verdict.ceiling = 0;
  const json parsed = json::parse(to_json(report));
  EXPECT_TRUE(parsed["cache"]["resident_before_fraction"].is_null());
  EXPECT_TRUE(parsed["stages"][0]["io"]["advice"]["resident_fraction"].is_null());
  EXPECT_TRUE(parsed["stages"][1]["io"].is_null());
  EXPECT_TRUE(parsed["verdict"]["ceiling"].is_null());
  EXPECT_TRUE(parsed["cache"]["device_read_bytes"].is_null());
  EXPECT_EQ(parsed["cache"]["state"], "unknown");
  EXPECT_TRUE(parsed["environment"]["paths"][1]["read_ahead_kb"].is_null());
  EXPECT_TRUE(parsed["environment"]["paths"][1]["max_sectors_kb"].is_null());
  EXPECT_TRUE(parsed["environment"]["paths"][1]["direct_offset_alignment"].is_null());
}

TEST(ReportJson, ComesBackWithEveryField) {
  const RunReport before = full_report();
  const std::string text = to_json(before);
  const RunReport after = report_from_json(text);
  // Whatever is written is compared by writing it again; what is not in the JSON of one report shows in the text.
  EXPECT_TRUE(to_json(after) == text);
  EXPECT_EQ(to_text(after), to_text(before));
  ASSERT_EQ(after.samples.size(), before.samples.size());
  EXPECT_EQ(after.samples[7].at_ns, before.samples[7].at_ns);
  EXPECT_EQ(after.samples[7].stages[1].time, before.samples[7].stages[1].time);
  EXPECT_EQ(after.samples[7].stages[1].busy, before.samples[7].stages[1].busy);
  EXPECT_EQ(after.samples[7].link_chunks, before.samples[7].link_chunks);
}

TEST(ReportJson, DriftAndMemoryComeBack) {
  const RunReport before = drifting_report();
  const std::string text = to_json(before);
  const RunReport after = report_from_json(text);
  EXPECT_TRUE(to_json(after) == text);
  EXPECT_EQ(after.samples[7].resident_bytes, before.samples[7].resident_bytes);
  EXPECT_GT(after.samples[7].resident_bytes, 0U);
  ASSERT_EQ(after.drift.size(), 1U);
  EXPECT_EQ(after.drift[0].before, "compute:detect_events");
}

TEST(ReportJson, CanBeJudgedAgainWhenItComesBack) {
  const RunReport before = full_report();
  RunReport after = report_from_json(to_json(before));
  after.verdict = {};
  after.phases.clear();
  complete_report(after);
  EXPECT_TRUE(to_json(after) == to_json(before));
}

TEST(ReportJson, KeepsNanosecondsExactly) {
  std::mt19937_64 random(1);
  RunReport report = full_report();
  for (int i = 0; i < 2000; ++i) {
    const auto ns = static_cast<std::int64_t>(random() % (1ULL << (1 + random() % 51)));
    report.stages[0].time.busy_ns = ns;
    report.stages[0].busy.io_wait_ns = ns / 3;
    report.links[0].time_full_ns = ns / 7;
    const RunReport after = report_from_json(to_json(report));
    ASSERT_EQ(after.stages[0].time.busy_ns, ns);
    ASSERT_EQ(after.stages[0].busy.io_wait_ns, ns / 3);
    ASSERT_EQ(after.links[0].time_full_ns, ns / 7);
    report.samples.clear();
  }
}

TEST(ReportJson, RandomReportsComeBack) {
  std::mt19937_64 random(2);
  for (int run = 0; run < 50; ++run) {
    RunReport report = full_report();
    const std::size_t samples = random() % 40;
    report.samples.resize(std::min(report.samples.size(), samples));
    report.stages[2].chunks_in = random();
    report.stages[1].call.p99_ns = static_cast<std::int64_t>(random() >> 5U);
    report.error = std::string(random() % 5, '"') + "\n\t\\";
    report.loss.dropped.resize(random() % 3);
    report.blame.resize(random() % 4);
    report.stalls.resize(random() % 3);
    report.phases.resize(random() % 2);
    const std::string text = to_json(report);
    EXPECT_TRUE(to_json(report_from_json(text)) == text);
  }
}

TEST(ReportJson, WritesPathsThatAreNoUtf8) {
  RunReport report = full_report();
  report.outputs[0].path = "out/\xff\xfe.tsv";
  EXPECT_EQ(report_from_json(to_json(report)).outputs[0].path, "out/\xef\xbf\xbd\xef\xbf\xbd.tsv");
}

TEST(ReportJson, WritesNoNumberThatIsNone) {
  RunReport report = full_report();
  report.closure_error = std::nan("");
  report.links[0].mean_chunks = INFINITY;
  EXPECT_EQ(refusal(to_json(report)), "");
}

TEST(ReportJson, RefusesToWriteAConfigThatIsNoObject) {
  RunReport report = full_report();
  report.config_json = "[1]";
  EXPECT_THROW(to_json(report), Error);
  report.config_json = "{";
  EXPECT_THROW(to_json(report), Error);
}

TEST(ReportFromJson, RefusesWhatIsNoReport) {
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not an object"));
  EXPECT_THAT(refusal("null"), HasSubstr("not an object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("'schema' is missing"));
  EXPECT_THAT(refusal(R"({"schema":7})"), HasSubstr("'schema' is not a string"));
  EXPECT_THAT(refusal(R"({"schema":"millrace.compare/1"})"), HasSubstr("'millrace.compare/1'"));
  EXPECT_THAT(refusal(R"({"schema":"millrace.run/1"})"), HasSubstr("'name' is missing"));
  EXPECT_THAT(refusal(std::string(200'000, '[')), HasSubstr("nested too deeply"));
}

TEST(ReportFromJson, NamesThePlaceOfWhatIsWrong) {
  const json good = json::parse(to_json(full_report()));
  const auto with = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return refusal(changed.dump());
  };
  EXPECT_THAT(with("/stages/1/time_s/busy", "x"), HasSubstr("'stages[1].time_s.busy' is not a number"));
  EXPECT_THAT(with("/stages/1/slots", 0), HasSubstr("'stages[1].slots' is 0"));
  EXPECT_THAT(with("/stages/1/slots", 1e9), HasSubstr("is not a count"));
  EXPECT_THAT(with("/stages/1/slots", 4'000'000'000U), HasSubstr("is out of range"));
  EXPECT_THAT(with("/stages/0/chunks_in", -1), HasSubstr("'stages[0].chunks_in' is not a count"));
  EXPECT_THAT(with("/stages/0/role", "pump"), HasSubstr("none of source, transform, sink"));
  EXPECT_THAT(with("/stages/0/time_s/busy", 1e300), HasSubstr("out of range"));
  EXPECT_THAT(with("/wall_s", -1), HasSubstr("'wall_s' is negative"));
  EXPECT_THAT(with("/links/0/to", "nobody"), HasSubstr("stage 'nobody', which does not exist"));
  EXPECT_THAT(with("/config", 1), HasSubstr("'config' is not an object"));
  EXPECT_THAT(with("/cache/evicted", 1), HasSubstr("neither true nor false"));
  EXPECT_THAT(with("/samples/at_ns/0", -5), HasSubstr("is not a count"));
  EXPECT_THAT(with("/samples/stages/0/busy_ns", json::array()), HasSubstr("does not have one value per sample"));
  EXPECT_THAT(with("/samples/links", json::array()), HasSubstr("does not fit the links"));
  EXPECT_THAT(with("/samples/stages", json::array()), HasSubstr("does not fit the stages"));
  EXPECT_THAT(with("/verdict/evidence/0", 1), HasSubstr("not a string"));
}

TEST(ReportFromJson, NeedsEveryKeyOfTheSchemaButNotTheAdditions) {
  const json good = json::parse(to_json(full_report()));
  for (const char* key :
       {"name", "status", "started", "wall_s", "config", "command", "environment", "stages", "links", "closure_error",
        "verdict", "blame", "phases", "stalls", "cache", "memory", "loss", "series", "outputs"}) {
    json without = good;
    without.erase(key);
    EXPECT_THAT(refusal(without.dump()), HasSubstr(std::string("'") + key + "' is missing"));
  }
  json plain = good;
  for (const char* key : {"error", "threads", "ledger_cost", "drift", "samples"}) plain.erase(key);
  plain["verdict"].erase("rule");
  plain["something_new"] = 1;
  EXPECT_EQ(refusal(plain.dump()), "");
}

TEST(ReportFromJson, OfDamagedTextThrowsNothingButError) {
  const std::string good = to_json(full_report());
  std::mt19937_64 random(3);
  for (int run = 0; run < 2000; ++run) {
    std::string text = good;
    for (std::uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 40);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text[at] = "0123456789-eE.,:{}[]\"n"[random() % 22];
      }
    }
    try {
      RunReport report = report_from_json(text);
      complete_report(report);
      to_text(report, {true});
      to_json(report);
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace
}  // namespace millrace
