#include "pipeline/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace millrace {
namespace {

struct Column {
  const char* title;
  std::size_t width;  ///< with the gap before it
};

/// Everything after the name. The four in parentheses are parts of busy.
constexpr std::array<Column, 13> kColumns{{{"slots", 6},
                                           {"chunks", 7},
                                           {"busy", 6},
                                           {"(cpu", 6},
                                           {"io", 6},
                                           {"delay", 6},
                                           {"other)", 7},
                                           {"starved", 8},
                                           {"blocked", 8},
                                           {"ready", 6},
                                           {"done", 6},
                                           {"p50", 7},
                                           {"p99", 7}}};
constexpr std::size_t kP50 = 11;
constexpr std::size_t kP99 = 12;
/// " call" behind p50 and p99, when the names leave room for it.
constexpr std::size_t kWideCall = 2;

/// A state that a role cannot be in is "-", unless it was in it all the same.
std::string state_cell(std::int64_t ns, double slot_time_ns, bool possible) {
  return possible || ns > 0 ? share_cell(ns, slot_time_ns) : "-";
}

std::vector<std::string> cells_of(const StageReport& stage, std::int64_t wall_ns) {
  const double slot_time = static_cast<double>(stage.slots) * static_cast<double>(wall_ns);
  const std::uint64_t chunks = stage.role == Role::source ? stage.chunks_out : stage.chunks_in;
  const bool called = stage.call.count > 0;
  return {fmt::format("{}", stage.slots), short_count(chunks), share_cell(stage.time.busy_ns, slot_time),
          share_cell(stage.busy.on_cpu_ns, slot_time), share_cell(stage.busy.io_wait_ns, slot_time),
          share_cell(stage.busy.run_delay_ns, slot_time), share_cell(stage.busy.other_wait_ns, slot_time),
          state_cell(stage.time.starved_ns, slot_time, stage.role != Role::source),
          state_cell(stage.time.blocked_ns, slot_time, stage.role != Role::sink),
          // Where each slot has a thread, nothing waits for a worker.
          state_cell(stage.time.ready_ns, slot_time, stage.uses_workers()), share_cell(stage.time.done_ns, slot_time),
          called ? short_duration(stage.call.p50_ns) : "-", called ? short_duration(stage.call.p99_ns) : "-"};
}

}  // namespace

std::string short_count(std::uint64_t count) {
  if (count < 1'000'000) return fmt::format("{}", count);
  constexpr std::array<const char*, 5> kUnits{"M", "G", "T", "P", "E"};
  double value = static_cast<double>(count) / 1e6;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1e3;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits.at(unit));
}

std::string short_duration(std::int64_t ns) {
  constexpr std::array<const char*, 4> kUnits{"ns", "us", "ms", "s"};
  auto value = static_cast<double>(ns);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1e3;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit == 0 || value >= 9.95 ? 0 : 1, kUnits.at(unit));
}

std::string share_cell(std::int64_t part_ns, double whole_ns) {
  if (whole_ns <= 0) return "-";
  const double percent = 100 * static_cast<double>(part_ns) / whole_ns;
  return fmt::format("{:.{}f}%", percent, percent >= 99.95 ? 0 : 1);
}

std::string stage_table(const RunReport& report) {
  std::size_t fixed = 0;
  for (const auto& column : kColumns) fixed += column.width;
  std::size_t longest = 5;
  for (const auto& stage : report.stages) longest = std::max(longest, stage.name.size());
  const std::size_t room = kReportColumns - fixed;
  const bool wide = longest + 2 * kWideCall <= room;
  const std::size_t name_width = std::min(longest, room);
  const auto width = [&](std::size_t i) {
    return kColumns.at(i).width + (wide && (i == kP50 || i == kP99) ? kWideCall : 0);
  };

  std::string text = fmt::format("{:<{}}", "stage", name_width);
  for (std::size_t i = 0; i <= kP99; ++i) {
    const bool call = wide && (i == kP50 || i == kP99);
    text += fmt::format("{:>{}}", std::string(kColumns.at(i).title) + (call ? " call" : ""), width(i));
  }
  text += "\n";
  for (const auto& stage : report.stages) {
    if (stage.name.size() > name_width)
      text += stage.name + "\n" + std::string(name_width, ' ');
    else
      text += fmt::format("{:<{}}", stage.name, name_width);
    const auto cells = cells_of(stage, report.wall_ns);
    for (std::size_t i = 0; i < cells.size(); ++i) text += fmt::format("{:>{}}", cells[i], width(i));
    text += "\n";
  }
  return text;
}

}  // namespace millrace
