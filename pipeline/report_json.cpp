#include "pipeline/report_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "pipeline/cache_state.h"
#include "pipeline/core/error.h"
#include "pipeline/environment_json.h"
#include "pipeline/record_json.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

/// Nearest double to ns / 1e9: its shortest decimal form has the nanoseconds exactly.
double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

/// What report_from_json() takes.
constexpr double kLongestWaitNs = 1e18;

double finite(double value) { return std::isfinite(value) ? value : 0.0; }

/// Null for what was not measured, which the structs say with a negative number.
Json measured(double value) { return value < 0 || !std::isfinite(value) ? Json() : Json(value); }

Json known(std::int64_t count) { return count < 0 ? Json() : Json(count); }

Json json_of(const StateTimes& time) {
  return {{"busy", seconds(time.busy_ns)},
          {"starved", seconds(time.starved_ns)},
          {"blocked", seconds(time.blocked_ns)},
          {"ready", seconds(time.ready_ns)},
          {"done", seconds(time.done_ns)}};
}

Json json_of(const BusySplit& busy) {
  return {{"on_cpu", seconds(busy.on_cpu_ns)},
          {"io_wait", seconds(busy.io_wait_ns)},
          {"run_delay", seconds(busy.run_delay_ns)},
          {"other_wait", seconds(busy.other_wait_ns)}};
}

Json json_of(const IoStats& io) {
  return {{"transport_requested", io.transport_requested},
          {"transport_used", io.transport_used},
          {"detail", io.detail},
          {"registered_calls", io.registered_calls},
          {"dropped_cache_bytes", io.dropped_cache_bytes},
          {"drop_errors", io.drop_errors},
          {"calls", io.calls},
          {"bytes", io.bytes},
          {"retries", io.retries},
          {"cache_hit_bytes", io.cache_hit_bytes},
          {"cache_miss_bytes", io.cache_miss_bytes},
          {"advice",
           {{"kind", io.advice.kind},
            {"scope", io.advice.scope},
            {"window", io.advice.window_bytes},
            {"step", io.advice.step_bytes},
            {"calls", io.advice.calls},
            {"errors", io.advice.errors},
            {"checked_bytes", io.advice.checked_bytes},
            {"resident_bytes", io.advice.resident_bytes},
            {"resident_fraction", measured(io.advice.resident_fraction())}}},
          {"fsync_s", seconds(io.fsync_ns)},
          {"fsync_calls", io.fsync_calls}};
}

Json json_of(const StageReport& stage) {
  Json json = {{"name", stage.name},
               {"type", stage.type},
               {"role", name_of(stage.role)},
               {"slots", stage.slots},
               {"chunks_in", stage.chunks_in},
               {"chunks_out", stage.chunks_out},
               {"bytes_in", stage.bytes_in},
               {"bytes_out", stage.bytes_out},
               {"time_s", json_of(stage.time)},
               {"busy_s", json_of(stage.busy)},
               {"call_ns",
                {{"count", stage.call.count},
                 {"p50", stage.call.p50_ns},
                 {"p90", stage.call.p90_ns},
                 {"p99", stage.call.p99_ns},
                 {"max", stage.call.max_ns}}},
               {"major_faults", stage.major_faults},
               {"copies_bytes", stage.copied_bytes},
               {"cpu_sampled_every", stage.cpu_sampled_every},
               {"findings", stage.findings}};
  if (stage.own_threads) json["own_threads"] = true;
  if (stage.child_cpu_ns != 0) json["child_cpu_s"] = seconds(stage.child_cpu_ns);
  json["io"] = stage.io ? json_of(*stage.io) : Json();
  if (stage.record) json["record"] = json_of(*stage.record);
  return json;
}

Json json_of(const LinkReport& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"capacity_chunks", link.capacity_chunks},
          {"capacity_bytes", link.capacity_bytes},
          {"mean_chunks", finite(link.mean_chunks)},
          {"max_chunks", link.max_chunks},
          {"time_full_s", seconds(link.time_full_ns)},
          {"time_empty_s", seconds(link.time_empty_ns)},
          {"starved_s", seconds(link.starved_ns)},
          {"blocked_s", seconds(link.blocked_ns)},
          {"dropped", link.dropped_chunks},
          {"mean_wait_s", seconds(std::llround(std::clamp(finite(link.mean_wait_ns), 0.0, kLongestWaitNs)))}};
}

Json json_of(const Verdict& verdict) {
  return {{"kind", verdict.kind},
          {"stage", verdict.stage},
          {"confidence", verdict.confidence},
          {"evidence", verdict.evidence},
          {"cannot_help", verdict.cannot_help},
          {"second", verdict.second},
          {"ceiling", verdict.ceiling > 0 ? measured(verdict.ceiling) : Json()},
          {"rule", verdict.rule}};
}

Json json_of(const Loss& loss) {
  Json dropped = Json::array();
  for (const auto& drop : loss.dropped)
    dropped.push_back({{"stage", drop.stage}, {"reason", drop.reason}, {"chunks", drop.chunks}});
  return {{"read", loss.read},
          {"written", loss.written},
          {"dropped", dropped},
          {"failed", loss.failed},
          {"in_flight", loss.in_flight}};
}

/// Shares of slot time between one sample and the next, for plots.
Json series_of(const RunReport& report) {
  const std::vector<Sample> samples = complete_samples(report);
  Json times = Json::array();
  for (std::size_t k = 1; k < samples.size(); ++k) times.push_back(seconds(samples[k].at_ns));

  Json stages = Json::object();
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const auto shares = [&](std::int64_t StateTimes::*state) {
      Json values = Json::array();
      for (std::size_t k = 1; k < samples.size(); ++k) {
        const double slot_time = static_cast<double>(samples[k].at_ns - samples[k - 1].at_ns) * report.stages[i].slots;
        const std::int64_t ns = samples[k].stages[i].time.*state - samples[k - 1].stages[i].time.*state;
        // Four digits are what a plot can show.
        values.push_back(std::round(finite(static_cast<double>(ns) / slot_time) * 1e4) / 1e4);
      }
      return values;
    };
    stages[report.stages[i].name] = {{"busy", shares(&StateTimes::busy_ns)},
                                     {"starved", shares(&StateTimes::starved_ns)},
                                     {"blocked", shares(&StateTimes::blocked_ns)},
                                     {"ready", shares(&StateTimes::ready_ns)}};
  }
  Json links = Json::object();
  for (std::size_t i = 0; i < report.links.size(); ++i) {
    Json chunks = Json::array();
    for (std::size_t k = 1; k < samples.size(); ++k) chunks.push_back(samples[k].link_chunks[i]);
    links[report.links[i].from + "->" + report.links[i].to] = {{"chunks", chunks}};
  }
  return {{"interval_s", seconds(report.sample_interval_ns)}, {"t", times}, {"stages", stages}, {"links", links}};
}

/// Column by column: one array per stage and figure. Integers, so that differences stay exact.
Json samples_of(const RunReport& report) {
  std::vector<const Sample*> samples;
  for (const auto& sample : report.samples)
    if (sample.stages.size() == report.stages.size() && sample.link_chunks.size() == report.links.size())
      samples.push_back(&sample);
  const auto column = [&](auto value) {
    Json values = Json::array();
    for (const Sample* sample : samples) values.push_back(value(*sample));
    return values;
  };
  Json stages = Json::array();
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const auto time = [&](std::int64_t StateTimes::*field) {
      return column([&](const Sample& sample) { return sample.stages[i].time.*field; });
    };
    const auto busy = [&](std::int64_t BusySplit::*field) {
      return column([&](const Sample& sample) { return sample.stages[i].busy.*field; });
    };
    const auto count = [&](std::uint64_t Sample::PerStage::*field) {
      return column([&](const Sample& sample) { return sample.stages[i].*field; });
    };
    stages.push_back({{"busy_ns", time(&StateTimes::busy_ns)},
                      {"starved_ns", time(&StateTimes::starved_ns)},
                      {"blocked_ns", time(&StateTimes::blocked_ns)},
                      {"ready_ns", time(&StateTimes::ready_ns)},
                      {"done_ns", time(&StateTimes::done_ns)},
                      {"on_cpu_ns", busy(&BusySplit::on_cpu_ns)},
                      {"io_wait_ns", busy(&BusySplit::io_wait_ns)},
                      {"run_delay_ns", busy(&BusySplit::run_delay_ns)},
                      {"other_wait_ns", busy(&BusySplit::other_wait_ns)},
                      {"chunks_in", count(&Sample::PerStage::chunks_in)},
                      {"chunks_out", count(&Sample::PerStage::chunks_out)},
                      {"bytes_in", count(&Sample::PerStage::bytes_in)},
                      {"bytes_out", count(&Sample::PerStage::bytes_out)}});
  }
  Json links = Json::array();
  for (std::size_t i = 0; i < report.links.size(); ++i)
    links.push_back(column([&](const Sample& sample) { return sample.link_chunks[i]; }));
  return {{"at_ns", column([](const Sample& sample) { return sample.at_ns; })},
          {"resident_bytes", column([](const Sample& sample) { return sample.resident_bytes; })},
          {"stages", stages},
          {"links", links}};
}

Json json_of(const BlameRow& row) {
  return {{"waiting", row.waiting}, {"cause", row.cause}, {"seconds", seconds(row.ns)}};
}

Json json_of(const Phase& phase) {
  return {{"kind", phase.kind},
          {"start_s", seconds(phase.start_ns)},
          {"end_s", seconds(phase.end_ns)},
          {"verdict", json_of(phase.verdict)}};
}

Json json_of(const DriftReport& drift) {
  return {{"kind", drift.kind},
          {"at_s", seconds(drift.at_ns)},
          {"before_rate", finite(drift.before_rate)},
          {"after_rate", finite(drift.after_rate)},
          {"unit", drift.unit},
          {"before", drift.before},
          {"after", drift.after}};
}

Json json_of(const StallReport& stall) {
  return {{"stage", stall.stage},         {"state", stall.state}, {"seconds", seconds(stall.ns)},
          {"at_s", seconds(stall.at_ns)}, {"chunk", stall.chunk}, {"cause", stall.cause}};
}

Json json_of(const OutputReport& output) { return {{"path", output.path}, {"bytes", output.bytes}}; }

Json json_of(const CacheReport& cache, const std::string& state) {
  return {{"state", state},
          {"input_bytes", cache.input_bytes},
          {"resident_before_fraction", measured(cache.resident_before_fraction)},
          {"resident_after_fraction", measured(cache.resident_after_fraction)},
          {"evicted", cache.evicted},
          {"device_read_bytes", known(cache.device_bytes)}};
}

Json json_of(const MemoryReport& memory) {
  return {{"planned_bytes", memory.planned_bytes},
          {"budget_bytes", memory.budget_bytes},
          {"peak_rss_bytes", memory.peak_rss_bytes},
          {"allocations_after_warm_up", memory.allocations_after_warm_up},
          {"bytes_copied_per_byte", finite(memory.bytes_copied_per_byte)}};
}

Json json_of(const LedgerCost& cost) {
  return {{"ns_per_call", finite(cost.ns_per_call)},
          {"ns_per_cpu_sample", finite(cost.ns_per_cpu_sample)},
          {"total_s", seconds(cost.total_ns)},
          {"share", finite(cost.share)}};
}

template <typename T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(json_of(value));
  return list;
}

/// One line per key, and per element of a list of objects: short enough for long series, and still to be read.
std::string printed(const Json& json) {
  // Not a quiet repair: a path is a sequence of bytes, JSON is Unicode, and a report must not be lost over it.
  const auto text = [](const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::string out = "{";
  for (const auto& [key, value] : json.items()) {
    out += (out.size() == 1 ? "\n" : ",\n") + text(key) + ": ";
    if (!value.is_array() || value.empty() || !value.front().is_object()) {
      out += text(value);
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) out += (i == 0 ? "[\n  " : ",\n  ") + text(value[i]);
    out += "]";
  }
  return out + "\n}\n";
}

}  // namespace

std::string to_json(const RunReport& report) {
  Json config = Json::parse(report.config_json, nullptr, false);
  if (!config.is_object()) throw Error("the config of the run is no JSON object: the report cannot be written");
  Json json;
  json["schema"] = "millrace.run/1";
  json["name"] = report.name;
  json["status"] = report.status;
  json["error"] = report.error;
  json["started"] = report.started;
  json["wall_s"] = seconds(report.wall_ns);
  json["config"] = std::move(config);
  if (!report.config_file.empty()) {
    json["config_file"] = report.config_file;
    json["overrides"] = report.overrides;
    json["plugins"] = report.plugins;
  }
  json["command"] = report.command;
  json["threads"] = report.threads;
  json["environment"] = environment_json(report.environment);
  json["stages"] = list_of(report.stages);
  json["links"] = list_of(report.links);
  json["closure_error"] = finite(report.closure_error);
  json["verdict"] = json_of(report.verdict);
  json["blame"] = list_of(report.blame);
  json["phases"] = list_of(report.phases);
  json["drift"] = list_of(report.drift);
  json["stalls"] = list_of(report.stalls);
  json["cache"] = json_of(report.cache, name_of(cache_state(report)));
  json["memory"] = json_of(report.memory);
  json["loss"] = json_of(report.loss);
  json["ledger_cost"] = json_of(report.ledger_cost);
  json["series"] = series_of(report);
  json["outputs"] = list_of(report.outputs);
  json["samples"] = samples_of(report);
  return printed(json);
}

}  // namespace millrace
