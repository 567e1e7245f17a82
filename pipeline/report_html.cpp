#include "pipeline/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pipeline/cache_state.h"
#include "pipeline/core/units.h"
#include "pipeline/drift.h"
#include "pipeline/html_page.h"
#include "pipeline/phases.h"
#include "pipeline/report_charts.h"
#include "pipeline/report_table.h"
#include "pipeline/throughput.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

using html::Cell;
using html::escaped;
using Rows = std::vector<std::vector<Cell>>;

constexpr std::size_t kWindowRows = 24;

Cell text(const std::string& value) { return {escaped(value), false}; }
Cell number(const std::string& value) { return {escaped(value), true}; }

std::string head(const RunReport& report) {
  const Delivered all = delivered(report);
  std::string line = fmt::format("{} &middot; {} &middot; {} &middot; {}", escaped(report.status),
                                 format_duration_ns(report.wall_ns), format_rate(rate_of(report), all.counts_bytes()),
                                 all.counts_bytes() ? format_bytes(all.bytes) : fmt::format("{} chunks", all.chunks));
  if (const std::string cache = cache_label(report); !cache.empty()) line += " &middot; " + escaped(cache);
  std::string out = fmt::format("<h1>{}</h1>\n<p class=\"dim\">{} &middot; started {}</p>\n", escaped(report.name),
                                line, escaped(report.started));
  if (!report.error.empty()) out += "<p class=\"bad\">" + escaped(report.error) + "</p>\n";
  return out;
}

std::string verdict(const RunReport& report) {
  const Verdict& verdict = report.verdict;
  std::string title = verdict_title(verdict);
  if (!verdict.confidence.empty() && verdict.kind != "none") title += " (" + verdict.confidence + ")";
  std::string out = "<div class=\"box\"><strong>" + escaped(title) + "</strong>\n" + html::list(verdict.evidence);
  if (verdict.ceiling > 0)
    out += fmt::format("<p>If that took no time: {:.2f} times as fast{}.</p>\n", verdict.ceiling,
                       verdict.second.empty() ? "" : ", then " + escaped(verdict_title(verdict.second)));
  if (!verdict.cannot_help.empty()) out += "<p>Cannot help:</p>\n" + html::list(verdict.cannot_help);
  return out + "</div>\n";
}

std::string stages(const RunReport& report) {
  Rows rows;
  for (const auto& stage : report.stages) {
    const auto all = static_cast<double>(stage.time.sum_ns());
    rows.push_back({text(stage.name),
                    text(stage.type),
                    number(fmt::format("{}", stage.slots)),
                    number(short_count(stage.role == Role::source ? stage.chunks_out : stage.chunks_in)),
                    {html::state_bar(stage), false},
                    number(share_cell(stage.time.busy_ns, all)),
                    number(share_cell(stage.time.starved_ns, all)),
                    number(share_cell(stage.time.blocked_ns, all)),
                    number(share_cell(stage.time.ready_ns, all)),
                    number(stage.call.count > 0 ? short_duration(stage.call.p50_ns) : "-"),
                    number(stage.call.count > 0 ? short_duration(stage.call.p99_ns) : "-")});
  }
  if (rows.empty()) return "";
  return html::table({{"stage"},
                      {"type"},
                      {"slots", true},
                      {"chunks", true},
                      {"slot time"},
                      {"busy", true},
                      {"starved", true},
                      {"blocked", true},
                      {"ready", true},
                      {"p50 call", true},
                      {"p99 call", true}},
                     rows) +
         html::state_legend() +
         fmt::format("<p class=\"dim\">closure error {:.2f} %</p>\n", report.closure_error * 100);
}

std::string drift(const RunReport& report) {
  std::vector<std::string> lines;
  for (const auto& one : report.drift) lines.push_back(drift_text(one));
  if (std::string growth = memory_growth_text(report); !growth.empty()) lines.push_back(std::move(growth));
  return html::list(lines);
}

std::string over_time(const RunReport& report) {
  std::string out = html::rate_chart(report);
  for (std::size_t i = 0; i < report.stages.size(); ++i) out += html::state_chart(report, i);
  for (std::size_t i = 0; i < report.links.size(); ++i) out += html::link_chart(report, i);
  return out + html::memory_chart(report);
}

std::string phases(const RunReport& report) {
  Rows rows;
  for (const auto& phase : report.phases)
    rows.push_back({text(phase.kind == "warm_up" ? "warm-up" : phase.kind), number(format_duration_ns(phase.start_ns)),
                    number(format_duration_ns(phase.end_ns)), text(verdict_title(phase.verdict)),
                    text(phase.verdict.kind == "none" ? "" : phase.verdict.confidence)});
  return html::table({{"phase"}, {"from", true}, {"to", true}, {"verdict"}, {"confidence"}}, rows);
}

std::string windows(const RunReport& report) {
  Rows rows;
  const bool counts_bytes = delivered(report).counts_bytes();
  for (const auto& window : run_windows(report, kWindowRows))
    rows.push_back({number(format_run_time(window.start_ns)), number(format_run_time(window.end_ns)),
                    number(format_rate(window.rate, counts_bytes)),
                    number(window.resident_bytes > 0 ? format_bytes(window.resident_bytes) : "-"),
                    text(verdict_title(window.verdict)),
                    text(window.verdict.kind == "none" ? "" : window.verdict.confidence)});
  if (rows.size() < 2) return "";
  return html::table({{"from", true}, {"to", true}, {"rate", true}, {"memory", true}, {"verdict"}, {"confidence"}},
                     rows);
}

std::string links(const RunReport& report) {
  Rows rows;
  const auto wall = static_cast<double>(report.wall_ns);
  for (const auto& link : report.links)
    rows.push_back({text(link.from + " -> " + link.to),
                    number(fmt::format("{:.1f} of {}", link.mean_chunks, link.capacity_chunks)),
                    number(fmt::format("{}", link.max_chunks)), number(share_cell(link.time_full_ns, wall)),
                    number(share_cell(link.time_empty_ns, wall)), number(fmt::format("{}", link.dropped_chunks))});
  return html::table(
      {{"link"}, {"mean chunks", true}, {"most", true}, {"full", true}, {"empty", true}, {"dropped", true}}, rows);
}

std::string blame(const RunReport& report) {
  Rows rows;
  for (const auto& row : report.blame)
    rows.push_back({text(row.waiting), number(format_duration_ns(row.ns)),
                    text(row.cause == "(workers)" ? "a free worker" : row.cause)});
  return html::table({{"stage"}, {"waited", true}, {"for"}}, rows);
}

std::string stalls(const RunReport& report) {
  Rows rows;
  for (const auto& stall : report.stalls) {
    std::string cause;
    for (const auto& one : stall.cause) cause += (cause.empty() ? "" : " <- ") + one;
    rows.push_back({text(stall.stage), text(stall.state), number(format_duration_ns(stall.ns)),
                    number(format_duration_ns(stall.at_ns)), text(cause)});
  }
  return html::table({{"stage"}, {"state"}, {"for", true}, {"from", true}, {"because"}}, rows);
}

std::string account(const RunReport& report) {
  std::vector<std::string> lines;
  const Loss& loss = report.loss;
  lines.push_back(fmt::format("chunks: {} read, {} written, {} dropped, {} failed, {} in flight at the end", loss.read,
                              loss.written, loss.dropped_chunks(), loss.failed, loss.in_flight));
  for (const auto& drop : loss.dropped)
    lines.push_back(fmt::format("{} dropped at {} ({})", drop.chunks, drop.stage, drop.reason));
  const MemoryReport& memory = report.memory;
  lines.push_back(fmt::format("memory: {} planned of {}, {} peak; {:.2f} bytes copied per byte",
                              format_bytes(memory.planned_bytes), format_bytes(memory.budget_bytes),
                              format_bytes(memory.peak_rss_bytes), memory.bytes_copied_per_byte));
  for (const auto& output : report.outputs)
    lines.push_back(fmt::format("output: {} ({})", output.path, format_bytes(output.bytes)));
  for (const auto& stage : report.stages)
    if (stage.child_cpu_ns > 0)
      lines.push_back(fmt::format("{}: its child processes used {} of CPU time", stage.name,
                                  format_duration_ns(stage.child_cpu_ns)));
  for (const auto& stage : report.stages)
    for (const auto& finding : stage.findings) lines.push_back(stage.name + ": " + finding);
  return html::list(lines);
}

std::string surroundings(const RunReport& report) {
  const Environment& machine = report.environment;
  std::vector<std::string> lines{fmt::format("{}, Linux {}, {} cores, {}, millrace {}, {} workers", machine.host,
                                             machine.kernel, machine.cpus, format_bytes(machine.memory_bytes),
                                             machine.millrace_version, report.threads)};
  for (const auto& path : machine.paths)
    lines.push_back(fmt::format("{}: {} ({}) on {}{}", path.path, path.file_system, path.mount_options,
                                path.device.empty() ? "no device" : path.device,
                                path.read_ahead_kb < 0 ? "" : fmt::format(", read-ahead {} kB", path.read_ahead_kb)));
  return html::list(lines);
}

std::string config(const RunReport& report) {
  using Json = nlohmann::ordered_json;
  const Json json = Json::parse(report.config_json, nullptr, false);
  if (!json.is_object() || json.empty()) return "";
  return "<pre>" + escaped(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "</pre>\n";
}

}  // namespace

std::string to_html(const RunReport& report) {
  return html::page(report.name + " - millrace",
                    head(report) + verdict(report) + html::section("Drift", drift(report)) +
                        html::section("Stages", stages(report)) + html::section("Over time", over_time(report)) +
                        html::section("Windows", windows(report)) + html::section("Phases", phases(report)) +
                        html::section("Who waited for whom", blame(report)) +
                        html::section("Longest waits", stalls(report)) + html::section("Links", links(report)) +
                        html::section("Account", account(report)) +
                        html::section("Surroundings", surroundings(report)) + html::section("Config", config(report)));
}

}  // namespace millrace
