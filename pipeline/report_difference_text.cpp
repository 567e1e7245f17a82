#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/core/units.h"
#include "pipeline/report_difference.h"
#include "pipeline/report_table.h"
#include "pipeline/throughput.h"
#include "pipeline/verdict_words.h"

namespace millrace {
namespace {

using verdict::percent;

constexpr std::size_t kMostChanges = 8;
constexpr std::size_t kMostColumnWidth = 40;
/// An own-time change must make up this much of the extra time to be called most of it.
constexpr double kMost = 0.5;
/// Extra time below this share of the wall is none.
constexpr double kNoChange = 0.01;

constexpr bool is_own(SlotPart part) { return part < SlotPart::starved; }

/// "write waiting for I/O"
std::string in_words(const TimeChange& change) {
  const char* what = "";
  switch (change.part) {
    case SlotPart::cpu:
      what = "computing";
      break;
    case SlotPart::io:
      what = "waiting for I/O";
      break;
    case SlotPart::delay:
      what = "waiting for a core";
      break;
    case SlotPart::other:
      what = "asleep in its calls";
      break;
    case SlotPart::starved:
      what = "without input";
      break;
    case SlotPart::blocked:
      what = "without room downstream";
      break;
    case SlotPart::ready:
      what = "waiting for a worker";
      break;
    case SlotPart::done:
      what = "done";
      break;
  }
  return change.stage + " " + what;
}

std::string seconds_text(double seconds) {
  return format_duration_ns(std::llround(std::clamp(seconds, -9e8, 9e8) * 1e9));
}

void wrap(std::string& out, std::size_t indent, const std::string& text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > kReportColumns) {
      out += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
    at = end + 1;
  }
  out += line + "\n";
}

struct Row {
  std::string what, first, second, remark;
};

/// Three columns, as wide as they must be; what is longer than a column stands alone on its line.
void table(std::string& out, const std::vector<Row>& rows) {
  std::size_t what = 0;
  std::size_t first = 0;
  std::size_t second = 0;
  for (const auto& row : rows) {
    if (row.what.size() <= kMostColumnWidth) what = std::max(what, row.what.size());
    if (row.first.size() <= kMostColumnWidth) first = std::max(first, row.first.size());
    if (row.second.size() <= kMostColumnWidth) second = std::max(second, row.second.size());
  }
  for (const auto& row : rows) {
    std::string line =
        fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}", row.what, what, row.first, first, row.second, second, row.remark);
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.size() > kReportColumns)
      line = fmt::format("  {}\n    {}\n    {}", row.what, row.first,
                         row.second + (row.remark.empty() ? "" : "  " + row.remark));
    out += line + "\n";
  }
}

void facts(std::string& out, const std::vector<DifferingFact>& facts) {
  std::vector<Row> rows;
  for (const auto& fact : facts) rows.push_back({fact.what, fact.first, fact.second, ""});
  table(out, rows);
}

std::string verdict_of(const RunSide& side) {
  return side.confidence.empty() ? side.verdict : side.verdict + " (" + side.confidence + ")";
}

void totals(std::string& out, const RunDifference& difference) {
  const RunSide& a = difference.first;
  const RunSide& b = difference.second;
  const bool by_bytes = difference.unit == "GiB";
  std::vector<Row> rows{{"", "first", "second", ""}};
  rows.push_back({"run", a.name, b.name, ""});
  rows.push_back({"started", a.started, b.started, ""});
  rows.push_back({"status", a.status, b.status, ""});
  rows.push_back({"wall", format_duration_ns(a.wall_ns), format_duration_ns(b.wall_ns), ""});
  if (by_bytes)
    rows.push_back({"read", format_bytes(a.bytes), format_bytes(b.bytes), ""});
  else
    rows.push_back({"read", fmt::format("{} chunks", a.chunks), fmt::format("{} chunks", b.chunks), ""});
  rows.push_back({"rate", format_rate(a.rate, by_bytes), format_rate(b.rate, by_bytes),
                  difference.ratio > 0 ? fmt::format("{:.3f} times as fast", difference.ratio) : ""});
  rows.push_back({"peak memory", format_bytes(a.peak_rss_bytes), format_bytes(b.peak_rss_bytes), ""});
  rows.push_back({"verdict", verdict_of(a), verdict_of(b), ""});
  table(out, rows);
}

void uncertainty(std::string& out, const RunDifference& difference) {
  if (!difference.not_comparable.empty()) {
    wrap(out, 2, "The rates say nothing of each other: " + difference.not_comparable + ".");
    return;
  }
  if (difference.interval) {
    const auto& [low, high, first, second] = *difference.interval;
    wrap(out, 2,
         fmt::format("By the ups and downs within the runs ({} and {} windows of their steady parts) the second is "
                     "{:.3f} to {:.3f} times as fast (95 %). What one run differs from the next is not in that: "
                     "repeats tell, `millrace compare` does them.",
                     first, second, low, high));
  } else {
    wrap(out, 2,
         "The runs are too short to tell how much their rates vary. One run of each: without repeats a difference may "
         "be chance; `millrace compare` does them.");
  }
}

std::string pair_text(double first, double second) {
  return fmt::format("{:.0f} -> {:.0f}", first * 100, second * 100);
}

void stages(std::string& out, const RunDifference& difference) {
  constexpr std::array<SlotPart, 7> kShown{SlotPart::cpu,     SlotPart::io,    SlotPart::delay, SlotPart::starved,
                                           SlotPart::blocked, SlotPart::ready, SlotPart::done};
  std::size_t width = 5;
  for (const auto& stage : difference.stages) width = std::max(width, stage.name.size());
  width = std::min<std::size_t>(width, 12);
  out += fmt::format("\nshares of slot time in %, first -> second\n{:<{}}{:>11}", "stage", width, "busy");
  for (const SlotPart part : kShown) out += fmt::format("{:>11}", name_of(part));
  out += "\n";
  for (const auto& stage : difference.stages) {
    if (!stage.first || !stage.second) {
      out += fmt::format("{:<{}}  only in the {} run\n", stage.name, width, stage.first ? "first" : "second");
      continue;
    }
    if (stage.name.size() > width)
      out += stage.name + "\n" + std::string(width, ' ');
    else
      out += fmt::format("{:<{}}", stage.name, width);
    out += fmt::format("{:>11}", pair_text(stage.first->busy_share(), stage.second->busy_share()));
    for (const SlotPart part : kShown) {
      const auto i = static_cast<std::size_t>(part);
      out += fmt::format("{:>11}", pair_text(stage.first->share.at(i), stage.second->share.at(i)));
    }
    out += "\n";
  }
}

void calls(std::string& out, const RunDifference& difference) {
  std::vector<Row> rows;
  const auto pair = [](std::int64_t first, std::int64_t second) {
    return short_duration(first) + " -> " + short_duration(second);
  };
  for (const auto& stage : difference.stages) {
    if (!stage.first || !stage.second) continue;
    const StageSide& a = *stage.first;
    const StageSide& b = *stage.second;
    rows.push_back({stage.name, "p50 " + pair(a.p50_ns, b.p50_ns), "p99 " + pair(a.p99_ns, b.p99_ns),
                    a.slots == b.slots ? "" : fmt::format("slots {} -> {}", a.slots, b.slots)});
  }
  if (rows.empty()) return;
  out += "\ncalls\n";
  table(out, rows);
}

void links(std::string& out, const RunDifference& difference) {
  std::vector<Row> rows;
  for (const auto& link : difference.links) {
    if (!link.first || !link.second) {
      rows.push_back({link.name, link.first ? "only in the first run" : "only in the second run", "", ""});
      continue;
    }
    const LinkSide& a = *link.first;
    const LinkSide& b = *link.second;
    rows.push_back({link.name, "fill " + pair_text(a.fill, b.fill) + " %", "full " + pair_text(a.full, b.full) + " %",
                    "empty " + pair_text(a.empty, b.empty) + " %" +
                        (a.capacity_chunks == b.capacity_chunks
                             ? ""
                             : fmt::format(", {} -> {} chunks", a.capacity_chunks, b.capacity_chunks))});
  }
  if (rows.empty()) return;
  out += "\nlinks, of their capacity and of the wall time\n";
  table(out, rows);
}

void changes(std::string& out, const RunDifference& difference) {
  if (difference.changes.empty()) return;
  std::vector<Row> rows;
  for (const auto& change : difference.changes) {
    if (rows.size() == kMostChanges) break;
    rows.push_back({in_words(change), seconds_text(change.first_s) + " -> " + seconds_text(change.second_s),
                    fmt::format("{}{}", change.more_s() > 0 ? "+" : "-", seconds_text(std::abs(change.more_s()))),
                    is_own(change.part) ? "" : "a wait: what it waited for is the cause"});
  }
  const bool same = difference.unit == "GiB" ? difference.first.bytes == difference.second.bytes
                                             : difference.first.chunks == difference.second.chunks;
  out += fmt::format("\nbiggest changes{}\n", same ? "" : ", for as much input as the first run had");
  table(out, rows);
}

}  // namespace

std::string headline(const RunDifference& difference) {
  if (difference.ratio <= 0) return "There is nothing to compare: a run delivered nothing.";
  const double wall_s = static_cast<double>(difference.first.wall_ns) / 1e9;
  if (std::abs(difference.extra_s) < kNoChange * wall_s) return "Both took as long for the same input, to 1 %.";
  const bool longer = difference.extra_s > 0;
  std::string text = fmt::format("The second took {} {} for the same input", seconds_text(std::abs(difference.extra_s)),
                                 longer ? "longer" : "less");
  const TimeChange* cause = nullptr;
  for (const auto& change : difference.changes)
    if (cause == nullptr && is_own(change.part) && (change.more_s() > 0) == longer) cause = &change;
  if (cause == nullptr) return text + "; no stage's own time explains it.";
  const double part = std::abs(cause->more_s());
  return text + fmt::format("; {}, {}, is {} ({} -> {}).",
                            part >= kMost * std::abs(difference.extra_s) ? "most of it"
                                                                         : "the largest change of a stage's own time",
                            seconds_text(part), in_words(*cause), seconds_text(cause->first_s),
                            seconds_text(cause->second_s));
}

std::string to_text(const RunDifference& difference) {
  std::string out;
  if (difference.surroundings.empty()) {
    out += "surroundings: the same machine, file systems, cache state and load\n";
  } else {
    out += "surroundings that differ; what follows may come from these alone\n";
    facts(out, difference.surroundings);
  }
  if (difference.config.empty()) {
    out += "config: the same\n";
  } else {
    out += "config that differs\n";
    facts(out, difference.config);
  }
  out += "\n";
  totals(out, difference);
  out += "\n";
  wrap(out, 2, headline(difference));
  uncertainty(out, difference);
  changes(out, difference);
  stages(out, difference);
  calls(out, difference);
  links(out, difference);
  return out;
}

}  // namespace millrace
