#include "pipeline/experiment/comparison_html.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "pipeline/core/units.h"
#include "pipeline/experiment/comparison_charts.h"
#include "pipeline/html_page.h"
#include "pipeline/throughput.h"
#include "pipeline/verdict_words.h"

namespace millrace {
namespace {

using html::Cell;
using html::escaped;
using verdict::percent;
using Rows = std::vector<std::vector<Cell>>;

Cell text(const std::string& value) { return {escaped(value), false}; }
Cell number(const std::string& value) { return {escaped(value), true}; }
std::string share(double value) { return value < 0 ? "-" : percent(value); }

const char* words_of(CacheMode mode) {
  return mode == CacheMode::cold ? "cold" : mode == CacheMode::warm ? "warm" : "as it was";
}

std::string head(const ComparisonReport& report) {
  std::string out = fmt::format(
      "<h1>{}</h1>\n<p class=\"dim\">{} arms, {} repeats, cache {}, seed {} &middot; started "
      "{} on {} &middot; {}</p>\n",
      escaped(report.name), report.arms.size(), report.blocks.size(), words_of(report.cache), report.seed,
      escaped(report.started), escaped(report.environment.host), escaped(report.config));
  if (!report.error.empty()) out += "<p class=\"bad\">" + escaped(report.error) + "</p>\n";
  if (!report.identical_output)
    out += "<p class=\"bad\">The outputs differ: " + escaped(report.output_difference) + "</p>\n";
  if (!report.ended_early.empty()) out += "<p>" + escaped(report.ended_early) + "</p>\n";
  if (report.reading_never_limits)
    out += "<div class=\"box\"><strong>No read setting can help this run.</strong>\n" +
           html::list(report.reading_evidence) + "</div>\n";
  return out;
}

std::string rates_of_runs(const ArmReport& arm, bool counts_bytes) {
  std::string out;
  for (const auto& run : arm.runs) {
    const std::string rate = escaped(format_rate(run.rate, counts_bytes));
    out += out.empty() ? "" : ", ";
    out += run.excluded ? fmt::format("<s title=\"{}\">{}</s>", escaped(run.reason), rate) : rate;
  }
  return out;
}

/// The baseline has no effect of its own; the second arm is the baseline again.
std::string verdict_cell(const ArmReport& arm, std::size_t index) {
  if (index == 0) return "baseline";
  const char* css = arm.effect.verdict == ArmVerdict::faster   ? "good"
                    : arm.effect.verdict == ArmVerdict::slower ? "bad"
                                                               : "";
  std::string out = fmt::format("<span class=\"{}\">{}</span>", css, name_of(arm.effect.verdict));
  if (arm.effect.further_blocks) out += fmt::format(" ({} more repeats)", *arm.effect.further_blocks);
  if (arm.effect.faster_blocks > 0 && arm.effect.slower_blocks > 0)
    out += fmt::format("<br><span class=\"dim\">faster in {}, slower in {}</span>", arm.effect.faster_blocks,
                       arm.effect.slower_blocks);
  return out;
}

std::string table_of_arms(const ComparisonReport& report) {
  Rows rows;
  const bool counts_bytes = report.unit != "chunks";
  for (std::size_t i = 0; i < report.arms.size(); ++i) {
    const ArmReport& arm = report.arms[i];
    const ArmEffect& effect = arm.effect;
    const std::optional<double> p = p_of_verdict(effect, i);
    rows.push_back(
        {text(arm.label),
         number(i == 0 || effect.blocks == 0 ? "-" : fmt::format("{:.3f}", effect.ratio)),
         number(effect.low && effect.high ? fmt::format("{:.3f} to {:.3f}", *effect.low, *effect.high) : "-"),
         number(p ? fmt::format("{:.3g}", *p) : "-"),
         {verdict_cell(arm, i), false},
         number(share(arm.mechanism.median.advice_resident)),
         text(arm.mechanism.who_waited),
         {rates_of_runs(arm, counts_bytes), false}});
  }
  return html::table({{"setting"},
                      {"ratio", true},
                      {fmt::format("{:.3g} % interval", report.design.confidence * 100), true},
                      {"p", true},
                      {"verdict"},
                      {"resident", true},
                      {"who waited for whom"},
                      {"rate of every repeat"}},
                     rows);
}

std::string mechanism(const ComparisonReport& report) {
  Rows rows;
  std::vector<std::string> remarks;
  for (const auto& arm : report.arms) {
    const RunMechanism& median = arm.mechanism.median;
    std::string verdicts;
    for (const auto& [key, count] : arm.mechanism.verdicts)
      verdicts += fmt::format("{}{} x {}", verdicts.empty() ? "" : ", ", count, key);
    rows.push_back({text(arm.label), number(fmt::format("{:.3g} s", median.io_wait_s)),
                    number(share(median.io_wait_share)), number(share(median.starved_share)),
                    number(format_bytes(median.hit_bytes)),
                    number(median.cpu_s_per_gib < 0 ? "-" : fmt::format("{:.3g}", median.cpu_s_per_gib)),
                    number(share(median.run_delay_share)), text(median.transport), text(verdicts)});
    for (const auto& remark : arm.mechanism.remarks) remarks.push_back(arm.label + ": " + remark);
  }
  return html::table({{"setting"},
                      {"read waited", true},
                      {"of its time", true},
                      {"next starved", true},
                      {"from the cache", true},
                      {"CPU s/GiB", true},
                      {"wait for cores", true},
                      {"transport"},
                      {"verdicts"}},
                     rows) +
         html::list(remarks);
}

std::string left_out(const ComparisonReport& report) {
  std::vector<std::string> lines;
  for (const auto& run : report.excluded)
    lines.push_back(fmt::format("{}, repeat {}: {}", run.arm, run.block + 1, run.reason));
  return html::list(lines);
}

std::string design(const ComparisonReport& report) {
  std::vector<std::string> lines;
  lines.push_back(report.noise_floor
                      ? fmt::format("noise floor {:.3f}: what identical settings differ by; an effect must exceed it",
                                    *report.noise_floor)
                      : "noise floor: not known, too few repeats of identical settings");
  lines.push_back(report.minimal_detectable_ratio
                      ? fmt::format("smallest effect that this many repeats find: {:.3f} times as fast",
                                    *report.minimal_detectable_ratio)
                      : "smallest effect that this many repeats find: not known");
  lines.push_back(fmt::format("equivalent: interval within {:.3g} %; power {:.3g} %",
                              report.design.equivalence_margin * 100, report.design.power * 100));
  if (!report.rotate_key.empty())
    lines.push_back(fmt::format("{} takes {} files in turn", report.rotate_key, report.rotate_files.size()));
  for (std::size_t i = 0; i < report.blocks.size(); ++i) {
    std::string order;
    for (const std::size_t arm : report.blocks[i])
      if (arm < report.arms.size()) order += (order.empty() ? "" : ", ") + report.arms[arm].label;
    lines.push_back(fmt::format("repeat {}: {}", i + 1, order));
  }
  return html::list(lines);
}

std::string surroundings(const ComparisonReport& report) {
  const Environment& machine = report.environment;
  std::vector<std::string> lines{fmt::format("{}, Linux {}, {} cores, {}, millrace {}", machine.host, machine.kernel,
                                             machine.cpus, format_bytes(machine.memory_bytes),
                                             machine.millrace_version)};
  for (const auto& path : machine.paths)
    lines.push_back(fmt::format("{}: {} ({}) on {}", path.path, path.file_system, path.mount_options,
                                path.device.empty() ? "no device" : path.device));
  for (const auto& one : report.overrides) lines.push_back("all arms: --set " + one);
  for (const auto& arm : report.arms)
    for (const auto& one : arm.overrides) lines.push_back(arm.label + ": --set " + one);
  return html::list(lines);
}

std::string config(const ComparisonReport& report) {
  using Json = nlohmann::ordered_json;
  const Json json = Json::parse(report.config_json, nullptr, false);
  if (!json.is_object() || json.empty()) return "";
  return "<pre>" + escaped(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "</pre>\n";
}

}  // namespace

std::string to_html(const ComparisonReport& report) {
  return html::page(report.name + " compared - millrace",
                    head(report) + html::section("Effects", table_of_arms(report)) +
                        html::section("Ratio to the baseline", html::forest_plot(report)) +
                        html::section("Every run", html::run_plot(report)) +
                        html::section("Left out", left_out(report)) + html::section("Mechanism", mechanism(report)) +
                        html::section("Design", design(report)) + html::section("Surroundings", surroundings(report)) +
                        html::section("Config", config(report)));
}

}  // namespace millrace
