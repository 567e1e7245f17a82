#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "pipeline/cache_state.h"
#include "pipeline/environment_json.h"
#include "pipeline/record_json.h"
#include "pipeline/report_json.h"
#include "pipeline/report_reader.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

/// Deeper nesting than any report has; the parser keeps a stack of it and a config is printed again by recursion.
constexpr int kMaxDepth = 100;
/// Limits of what a file may claim, far beyond any pipeline; they keep arithmetic on slots and times in range.
constexpr std::uint64_t kMaxSlots = 1U << 20;

Role read_role(const ReportReader& in) {
  const std::string text = in.text("role");
  for (const Role role : {Role::source, Role::transform, Role::sink})
    if (text == name_of(role)) return role;
  refuse_report("'" + in.name("role") + "' is none of source, transform, sink");
}

StateTimes read_states(const ReportReader& in) {
  return {in.seconds("busy"), in.seconds("starved"), in.seconds("blocked"), in.seconds("ready"), in.seconds("done")};
}

BusySplit read_split(const ReportReader& in) {
  return {in.seconds("on_cpu"), in.seconds("io_wait"), in.seconds("run_delay"), in.seconds("other_wait")};
}

IoStats read_io(const ReportReader& in) {
  IoStats io;
  io.transport_requested = in.text("transport_requested");
  io.transport_used = in.text("transport_used");
  io.calls = in.count("calls");
  io.bytes = in.count("bytes");
  io.retries = in.count("retries");
  io.cache_hit_bytes = in.count("cache_hit_bytes");
  io.cache_miss_bytes = in.count("cache_miss_bytes");
  io.fsync_ns = in.seconds("fsync_s");
  io.fsync_calls = in.has("fsync_calls") ? in.count("fsync_calls") : 0;
  const ReportReader advice = in.object("advice");
  io.advice.kind = advice.text("kind");
  io.advice.scope = advice.text("scope");
  io.advice.window_bytes = advice.count("window");
  io.advice.step_bytes = advice.count("step");
  io.advice.calls = advice.count("calls");
  io.advice.errors = advice.count("errors");
  const auto count_or_0 = [](const ReportReader& from, const char* key) { return from.has(key) ? from.count(key) : 0; };
  io.advice.checked_bytes = count_or_0(advice, "checked_bytes");
  io.advice.resident_bytes = count_or_0(advice, "resident_bytes");
  if (in.has("detail")) io.detail = in.text("detail");
  io.registered_calls = count_or_0(in, "registered_calls");
  io.dropped_cache_bytes = count_or_0(in, "dropped_cache_bytes");
  io.drop_errors = count_or_0(in, "drop_errors");
  return io;
}

StageReport read_stage(const ReportReader& in) {
  StageReport stage;
  stage.name = in.text("name");
  stage.type = in.text("type");
  stage.role = read_role(in);
  stage.slots = static_cast<std::uint32_t>(in.count_below("slots", kMaxSlots));
  if (stage.slots == 0) refuse_report("'" + in.name("slots") + "' is 0");
  stage.chunks_in = in.count("chunks_in");
  stage.chunks_out = in.count("chunks_out");
  stage.bytes_in = in.count("bytes_in");
  stage.bytes_out = in.count("bytes_out");
  stage.time = read_states(in.object("time_s"));
  stage.busy = read_split(in.object("busy_s"));
  const ReportReader call = in.object("call_ns");
  stage.call = {call.count("count"), call.ns("p50"), call.ns("p90"), call.ns("p99"), call.ns("max")};
  stage.major_faults = in.count("major_faults");
  stage.copied_bytes = in.count("copies_bytes");
  if (in.has("cpu_sampled_every"))
    stage.cpu_sampled_every = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(1, in.count_below("cpu_sampled_every", std::numeric_limits<std::uint32_t>::max())));
  if (in.has("io")) stage.io = read_io(in.object("io"));
  if (in.has("own_threads")) stage.own_threads = in.flag("own_threads");
  if (in.has("child_cpu_s")) stage.child_cpu_ns = in.seconds("child_cpu_s");
  if (in.has("findings")) stage.findings = in.texts("findings");
  if (in.has("record")) stage.record = read_record(in.object("record"));
  return stage;
}

LinkReport read_link(const ReportReader& in, const RunReport& report) {
  LinkReport link;
  link.from = in.text("from");
  link.to = in.text("to");
  for (const auto* end : {&link.from, &link.to})
    if (std::none_of(report.stages.begin(), report.stages.end(), [&](const auto& stage) { return stage.name == *end; }))
      refuse_report("a link names the stage '" + *end + "', which does not exist");
  link.capacity_chunks = in.count("capacity_chunks");
  link.capacity_bytes = in.count("capacity_bytes");
  link.mean_chunks = in.number("mean_chunks");
  link.max_chunks = in.count("max_chunks");
  link.time_full_ns = in.seconds("time_full_s");
  link.time_empty_ns = in.seconds("time_empty_s");
  link.starved_ns = in.seconds("starved_s");
  link.blocked_ns = in.seconds("blocked_s");
  link.dropped_chunks = in.count("dropped");
  if (in.has("mean_wait_s")) link.mean_wait_ns = static_cast<double>(in.seconds("mean_wait_s"));
  return link;
}

Verdict read_verdict(const ReportReader& in) {
  Verdict verdict;
  verdict.kind = in.text("kind");
  verdict.stage = in.text("stage");
  verdict.confidence = in.text("confidence");
  verdict.evidence = in.texts("evidence");
  verdict.cannot_help = in.texts("cannot_help");
  verdict.second = in.text("second");
  verdict.ceiling = in.number_or("ceiling", 0);
  if (in.has("rule")) verdict.rule = in.text("rule");
  return verdict;
}

Loss read_loss(const ReportReader& in) {
  Loss loss;
  loss.read = in.count("read");
  loss.written = in.count("written");
  in.each("dropped", [&](const ReportReader& drop) {
    loss.dropped.push_back({drop.text("stage"), drop.text("reason"), drop.count("chunks")});
  });
  loss.failed = in.count("failed");
  loss.in_flight = in.count("in_flight");
  return loss;
}

void read_samples(RunReport& report, const ReportReader& in) {
  const Json& times = in.array("at_ns");
  const std::size_t size = times.size();
  report.samples.resize(size);
  const auto fill = [&](const ReportReader& from, const char* key, auto set) {
    const auto values = from.counts(key, size);
    for (std::size_t k = 0; k < size; ++k) {
      if (values[k] > kMaxReportNs) refuse_report("'" + from.name(key) + "' is out of range");
      set(report.samples[k], values[k]);
    }
  };
  fill(in, "at_ns", [](Sample& sample, std::uint64_t value) { sample.at_ns = static_cast<std::int64_t>(value); });
  if (in.has("resident_bytes"))
    fill(in, "resident_bytes", [](Sample& sample, std::uint64_t value) { sample.resident_bytes = value; });

  if (in.array("stages").size() != report.stages.size()) refuse_report("'samples.stages' does not fit the stages");
  for (auto& sample : report.samples) sample.stages.resize(report.stages.size());
  std::size_t i = 0;
  in.each("stages", [&](const ReportReader& stage) {
    const auto time = [&](const char* key, std::int64_t StateTimes::*field) {
      fill(stage, key, [&](Sample& sample, std::uint64_t value) {
        sample.stages[i].time.*field = static_cast<std::int64_t>(value);
      });
    };
    const auto busy = [&](const char* key, std::int64_t BusySplit::*field) {
      fill(stage, key, [&](Sample& sample, std::uint64_t value) {
        sample.stages[i].busy.*field = static_cast<std::int64_t>(value);
      });
    };
    const auto count = [&](const char* key, std::uint64_t Sample::PerStage::*field) {
      fill(stage, key, [&](Sample& sample, std::uint64_t value) { sample.stages[i].*field = value; });
    };
    time("busy_ns", &StateTimes::busy_ns);
    time("starved_ns", &StateTimes::starved_ns);
    time("blocked_ns", &StateTimes::blocked_ns);
    time("ready_ns", &StateTimes::ready_ns);
    time("done_ns", &StateTimes::done_ns);
    busy("on_cpu_ns", &BusySplit::on_cpu_ns);
    busy("io_wait_ns", &BusySplit::io_wait_ns);
    busy("run_delay_ns", &BusySplit::run_delay_ns);
    busy("other_wait_ns", &BusySplit::other_wait_ns);
    count("chunks_in", &Sample::PerStage::chunks_in);
    count("chunks_out", &Sample::PerStage::chunks_out);
    count("bytes_in", &Sample::PerStage::bytes_in);
    count("bytes_out", &Sample::PerStage::bytes_out);
    ++i;
  });

  const Json& links = in.array("links");
  if (links.size() != report.links.size()) refuse_report("'samples.links' does not fit the links");
  for (auto& sample : report.samples) sample.link_chunks.reserve(links.size());
  for (const Json& link : links) {
    const auto values = in.to_counts(link, "links", size);
    for (std::size_t k = 0; k < size; ++k) report.samples[k].link_chunks.push_back(values[k]);
  }
}

void read_account(RunReport& report, const ReportReader& in) {
  in.each("blame", [&](const ReportReader& row) {
    report.blame.push_back({row.text("waiting"), row.text("cause"), row.seconds("seconds")});
  });
  in.each("phases", [&](const ReportReader& phase) {
    report.phases.push_back(
        {phase.text("kind"), phase.seconds("start_s"), phase.seconds("end_s"), read_verdict(phase.object("verdict"))});
  });
  if (in.has("drift"))
    in.each("drift", [&](const ReportReader& drift) {
      report.drift.push_back({drift.text("kind"), drift.seconds("at_s"), drift.number("before_rate"),
                              drift.number("after_rate"), drift.text("unit"), drift.text("before"),
                              drift.text("after")});
    });
  in.each("stalls", [&](const ReportReader& stall) {
    report.stalls.push_back({stall.text("stage"), stall.text("state"), stall.seconds("seconds"), stall.seconds("at_s"),
                             stall.count("chunk"), stall.texts("cause")});
  });
  in.each("outputs", [&](const ReportReader& output) {
    report.outputs.push_back({output.text("path"), output.count("bytes")});
  });
  const ReportReader cache = in.object("cache");
  report.cache = {cache.count("input_bytes"),
                  cache.number_or("resident_before_fraction", -1),
                  cache.number_or("resident_after_fraction", -1),
                  cache.flag("evicted"),
                  cache.has("state") && cache.text("state") == name_of(CacheState::memory),
                  cache.has("device_read_bytes") ? cache.ns("device_read_bytes") : -1};
  const ReportReader memory = in.object("memory");
  report.memory = {memory.count("planned_bytes"), memory.count("budget_bytes"), memory.count("peak_rss_bytes"),
                   memory.count("allocations_after_warm_up"), memory.number("bytes_copied_per_byte")};
  report.loss = read_loss(in.object("loss"));
  if (in.has("ledger_cost")) {
    const ReportReader cost = in.object("ledger_cost");
    report.ledger_cost = {cost.number("ns_per_call"), cost.number("ns_per_cpu_sample"), cost.seconds("total_s"),
                          cost.number("share")};
  }
}

RunReport read_report(const ReportReader& in) {
  if (in.text("schema") != "millrace.run/1")
    refuse_report("its schema is '" + in.text("schema") + "', this program reads 'millrace.run/1'");
  RunReport report;
  report.name = in.text("name");
  report.status = in.text("status");
  if (in.has("error")) report.error = in.text("error");
  report.started = in.text("started");
  report.wall_ns = in.seconds("wall_s");
  if (report.wall_ns < 0) refuse_report("'wall_s' is negative");
  if (!in.get("config").is_object()) refuse_report("'config' is not an object");
  report.config_json = in.get("config").dump(-1, ' ', false, Json::error_handler_t::replace);
  if (in.has("config_file")) report.config_file = in.text("config_file");
  if (in.has("overrides")) report.overrides = in.texts("overrides");
  if (in.has("plugins")) report.plugins = in.texts("plugins");
  report.command = in.texts("command");
  if (in.has("threads")) report.threads = static_cast<std::uint32_t>(in.count_below("threads", kMaxSlots));
  report.environment = read_environment(in.object("environment"));
  in.each("stages", [&](const ReportReader& stage) { report.stages.push_back(read_stage(stage)); });
  in.each("links", [&](const ReportReader& link) { report.links.push_back(read_link(link, report)); });
  report.closure_error = in.number("closure_error");
  report.verdict = read_verdict(in.object("verdict"));
  read_account(report, in);
  report.sample_interval_ns = in.object("series").seconds("interval_s");
  if (in.has("samples")) read_samples(report, in.object("samples"));
  return report;
}

}  // namespace

RunReport report_from_json(const std::string& text) {
  bool too_deep = false;
  const auto guard = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) too_deep = true;
    return !too_deep;
  };
  const Json json = Json::parse(text, guard, false);
  if (too_deep) refuse_report("it is nested too deeply");
  if (json.is_discarded()) refuse_report("it is not JSON");
  return read_report(ReportReader(json, ""));
}

}  // namespace millrace
