#include "apps/report_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/terminal.h"
#include "pipeline/core/units.h"
#include "pipeline/report_text.h"

namespace millrace::apps {
namespace {

std::string verdict_of(const RunReport& report) {
  const Verdict& verdict = report.verdict;
  std::string text = verdict.kind;
  if (!verdict.stage.empty()) text += fmt::format(":{}", verdict.stage);
  return verdict.confidence.empty() ? text : fmt::format("{} ({})", text, verdict.confidence);
}

std::uint64_t source_bytes(const RunReport& report) {
  std::uint64_t bytes = 0;
  for (const auto& stage : report.stages) {
    if (stage.role == Role::source) bytes += stage.bytes_out;
  }
  return bytes;
}

double rate_of(const RunReport& report) {
  return report.wall_ns <= 0 ? 0
                             : static_cast<double>(source_bytes(report)) * 1e9 / static_cast<double>(report.wall_ns);
}

std::string row(const std::string& what, const std::string& before, const std::string& after,
                const std::string& change) {
  std::string line = fmt::format("{:<12}{:>24}{:>24}  {}", what, before, after, change);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// "1.27x as fast", "0.80x as fast"
std::string speed_change(double before, double after) {
  return before > 0 && after > 0 ? fmt::format("{:.2f}x as fast", after / before) : "";
}

double share(std::int64_t part_ns, const StageReport& stage) {
  const std::int64_t all_ns = stage.time.sum_ns();
  return all_ns <= 0 ? 0 : 100.0 * static_cast<double>(part_ns) / static_cast<double>(all_ns);
}

struct Column {
  const char* name;
  std::int64_t (*part)(const StageReport&);
};

constexpr std::array<Column, 6> kColumns{{
    {"busy", [](const StageReport& stage) { return stage.time.busy_ns; }},
    {"cpu", [](const StageReport& stage) { return stage.busy.on_cpu_ns; }},
    {"io", [](const StageReport& stage) { return stage.busy.io_wait_ns; }},
    {"starved", [](const StageReport& stage) { return stage.time.starved_ns; }},
    {"blocked", [](const StageReport& stage) { return stage.time.blocked_ns; }},
    {"ready", [](const StageReport& stage) { return stage.time.ready_ns; }},
}};

const StageReport* stage_named(const RunReport& report, const std::string& name) {
  const auto found = std::find_if(report.stages.begin(), report.stages.end(),
                                  [&name](const StageReport& stage) { return stage.name == name; });
  return found == report.stages.end() ? nullptr : &*found;
}

std::string stage_rows(const RunReport& before, const RunReport& after) {
  std::size_t width = 5;
  for (const auto& stage : before.stages) width = std::max(width, stage.name.size());
  std::string text = fmt::format("{:<{}}", "stage", width);
  for (const auto& column : kColumns) text += fmt::format("{:>13}", column.name);
  text += "\n";
  for (const auto& stage : before.stages) {
    const StageReport* const other = stage_named(after, stage.name);
    if (other == nullptr) {
      text += fmt::format("{:<{}}  only in the first run\n", stage.name, width);
      continue;
    }
    text += fmt::format("{:<{}}", stage.name, width);
    for (const auto& column : kColumns) {
      text += fmt::format("{:>13}", fmt::format("{:.0f} -> {:.0f}", share(column.part(stage), stage),
                                                share(column.part(*other), *other)));
    }
    if (stage.slots != other->slots) text += fmt::format("  slots {} -> {}", stage.slots, other->slots);
    text += "\n";
  }
  for (const auto& stage : after.stages) {
    if (stage_named(before, stage.name) == nullptr) {
      text += fmt::format("{:<{}}  only in the second run\n", stage.name, width);
    }
  }
  return text;
}

}  // namespace

std::string text_of(const RunReport& report, bool explain) {
  std::string text = to_text(report, {.colour = is_terminal(Stream::output)});
  if (explain) text += fmt::format("rule: {}\n", report.verdict.rule.empty() ? "none applied" : report.verdict.rule);
  return text;
}

std::string difference_text(const RunReport& before, const RunReport& after) {
  std::string text = row("", "first", "second", "");
  text += row("run", before.name, after.name, "");
  text += row("status", before.status, after.status, "");
  text += row("wall", format_duration_ns(before.wall_ns), format_duration_ns(after.wall_ns), "");
  text += row("read", format_bytes(source_bytes(before)), format_bytes(source_bytes(after)), "");
  text += row("rate", format_bytes(static_cast<std::uint64_t>(rate_of(before))) + "/s",
              format_bytes(static_cast<std::uint64_t>(rate_of(after))) + "/s",
              speed_change(rate_of(before), rate_of(after)));
  text += row("peak memory", format_bytes(before.memory.peak_rss_bytes), format_bytes(after.memory.peak_rss_bytes), "");
  text += row("verdict", verdict_of(before), verdict_of(after), "");
  text += "\nshares of slot time in %, first -> second\n" + stage_rows(before, after);
  if (before.environment.host != after.environment.host) {
    text += fmt::format("\nthe runs are of two machines: {} and {}\n", before.environment.host, after.environment.host);
  }
  return text + "\nOne run of each: without repeats a difference may be chance.\n";
}

}  // namespace millrace::apps
