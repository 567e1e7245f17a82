#include "pipeline/complete_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "pipeline/core/units.h"
#include "pipeline/phases.h"
#include "pipeline/verdict.h"
#include "pipeline/verdict_thresholds.h"
#include "pipeline/verdict_words.h"

namespace millrace {
namespace {

constexpr std::size_t kStallsKept = 10;

double closure_error(const RunReport& report) {
  double largest = 0;
  if (report.wall_ns <= 0) return largest;
  for (const auto& stage : report.stages) {
    const double slot_time = static_cast<double>(stage.slots) * static_cast<double>(report.wall_ns);
    const double error = std::abs(static_cast<double>(stage.time.sum_ns()) - slot_time) / slot_time;
    largest = std::max(largest, error);
  }
  return largest;
}

const StageReport* find_stage(const RunReport& report, const std::string& name) {
  const auto at = std::find_if(report.stages.begin(), report.stages.end(),
                               [&](const StageReport& stage) { return stage.name == name; });
  return at == report.stages.end() ? nullptr : &*at;
}

/// Little's law: time in the link = mean number in it / arrivals per time.
void add_mean_wait(RunReport& report) {
  for (auto& link : report.links) {
    if (link.mean_wait_ns > 0) continue;
    const StageReport* from = find_stage(report, link.from);
    if (from == nullptr || from->chunks_out <= link.dropped_chunks) continue;
    const auto passed = static_cast<double>(from->chunks_out - link.dropped_chunks);
    link.mean_wait_ns = link.mean_chunks * static_cast<double>(report.wall_ns) / passed;
  }
}

void add_copies(RunReport& report) {
  std::uint64_t copied = 0;
  std::uint64_t delivered = 0;
  for (const auto& stage : report.stages) {
    copied += stage.copied_bytes;
    if (stage.role == Role::sink) delivered += stage.bytes_in;
  }
  report.memory.bytes_copied_per_byte =
      delivered > 0 ? static_cast<double>(copied) / static_cast<double>(delivered) : 0;
}

std::string second_of(std::int64_t ns) { return format_duration_ns(ns); }

/// Says in the verdict what its phase does not show: that the bottleneck changed, that the drain was long.
void add_other_phases(RunReport& report, const Phase& main) {
  for (const auto& phase : report.phases) {
    if (&phase == &main || phase.verdict.kind == "none") continue;
    const auto length = static_cast<double>(phase.end_ns - phase.start_ns);
    if (phase.kind == "steady")
      report.verdict.evidence.push_back(fmt::format("This changed during the run: from {} to {} it was {} instead.",
                                                    second_of(phase.start_ns), second_of(phase.end_ns),
                                                    verdict_title(phase.verdict)));
    if (phase.kind == "drain" && length >= verdict::kLongDrain * static_cast<double>(report.wall_ns))
      report.verdict.evidence.push_back(fmt::format("After the last source was done the run went on for {}: {}.",
                                                    second_of(phase.end_ns - phase.start_ns),
                                                    verdict_title(phase.verdict)));
  }
}

/// Says that prefetch advice did little, and why: one call for a whole file starts one step of it. What was there in
/// time all the same came by the kernel's own read-ahead.
void add_futile_advice(RunReport& report) {
  for (const auto& stage : report.stages) {
    if (!stage.io || stage.io->advice.kind != "willneed" || stage.io->advice.scope != "file") continue;
    const IoStats::Advice& advice = stage.io->advice;
    const double there = advice.resident_fraction();
    const bool short_step =
        static_cast<double>(advice.step_bytes) < verdict::kFutileAdvice * static_cast<double>(advice.window_bytes);
    const bool was_there = there < 0 || there >= verdict::kFutileAdvice;
    if (was_there && !short_step) continue;
    std::string text = fmt::format("The advice of '{}' did little: one call prefetches at most {} here, of files of {}",
                                   stage.name, format_bytes(advice.step_bytes), format_bytes(advice.window_bytes));
    if (there >= 0)
      text += was_there ? fmt::format("; that {} of the data was there in time is the kernel's own read-ahead",
                                      verdict::percent(there))
                        : fmt::format("; only {} of the data was there in time", verdict::percent(there));
    report.verdict.evidence.push_back(text + ".");
  }
}

void add_verdict(RunReport& report) {
  report.phases = find_phases(report);
  const Phase& main = main_phase(report.phases);
  report.verdict = main.verdict;
  if (report.phases.size() > 1)
    report.verdict.rule += fmt::format("; judged on the steady phase {} to {} of {}", second_of(main.start_ns),
                                       second_of(main.end_ns), second_of(report.wall_ns));
  add_other_phases(report, main);
  add_futile_advice(report);
}

void put_in_order(RunReport& report) {
  std::erase_if(report.blame, [](const BlameRow& row) { return row.ns <= 0; });
  std::stable_sort(report.blame.begin(), report.blame.end(),
                   [](const BlameRow& a, const BlameRow& b) { return a.ns > b.ns; });
  std::stable_sort(report.stalls.begin(), report.stalls.end(),
                   [](const StallReport& a, const StallReport& b) { return a.ns > b.ns; });
  if (report.stalls.size() > kStallsKept) report.stalls.resize(kStallsKept);
}

void check_itself(RunReport& report) {
  if (report.status != "ok") return;
  const auto& loss = report.loss;
  if (report.closure_error > kMaxClosureError) {
    report.status = "failed";
    report.error = fmt::format("self-check: the slot times do not add up, closure error {:.2f} % is above {:.2f} %",
                               report.closure_error * 100, kMaxClosureError * 100);
  } else if (!loss.closes()) {
    report.status = "failed";
    report.error = fmt::format(
        "self-check: chunks do not add up, read {} but written {} + dropped {} + failed {} + in "
        "flight {}",
        loss.read, loss.written, loss.dropped_chunks(), loss.failed, loss.in_flight);
  }
}

}  // namespace

void complete_report(RunReport& report) {
  report.closure_error = closure_error(report);
  add_mean_wait(report);
  add_copies(report);
  add_verdict(report);
  put_in_order(report);
  check_itself(report);
}

}  // namespace millrace
