#include "pipeline/experiment/run_facts.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "pipeline/verdict.h"

namespace millrace {
namespace {

/// How the verdict's list of what cannot help begins the line about reading (pipeline/verdict_words.cpp).
constexpr std::string_view kAnyReadSetting = "any read setting";

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

double slot_time_ns(const StageReport& stage, const RunReport& report) {
  return static_cast<double>(stage.slots) * static_cast<double>(report.wall_ns);
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

bool is_source(const StageReport& stage) { return stage.role == Role::source; }

const StageReport* find_stage(const RunReport& report, const std::string& name) {
  const auto found = std::find_if(report.stages.begin(), report.stages.end(),
                                  [&name](const StageReport& stage) { return stage.name == name; });
  return found == report.stages.end() ? nullptr : &*found;
}

bool names_a_source(const RunReport& report, const std::string& name) {
  const StageReport* const stage = find_stage(report, name.substr(0, name.find(" -> ")));
  return stage != nullptr && is_source(*stage);
}

bool blames_reading(const RunReport& report, bool reading_excused) {
  const Verdict& verdict = report.verdict;
  if (verdict.kind == "none" || verdict.kind == "io-read" || verdict.kind == "source-paced") return true;
  if (reading_excused) return false;
  // A link behind a source, or a balance that may have a source in it, is no proof of the contrary.
  return verdict.kind == "balanced" || names_a_source(report, verdict.stage);
}

void add_sources(const RunReport& report, RunMechanism& mechanism) {
  double slot_time = 0;
  std::uint64_t checked = 0;
  std::uint64_t resident = 0;
  for (const auto& stage : report.stages) {
    if (!is_source(stage)) continue;
    slot_time += slot_time_ns(stage, report);
    mechanism.io_wait_s += seconds(stage.busy.io_wait_ns);
    if (!stage.io) continue;
    checked += stage.io->advice.checked_bytes;
    resident += stage.io->advice.resident_bytes;
    mechanism.hit_bytes += stage.io->cache_hit_bytes;
    if (mechanism.transport.empty()) mechanism.transport = stage.io->transport_used;
    if (stage.io->transport_used != stage.io->transport_requested) {
      mechanism.transport_refused = stage.io->transport_requested;
    }
  }
  mechanism.io_wait_share = share(mechanism.io_wait_s * 1e9, slot_time);
  if (checked > 0) mechanism.advice_resident = static_cast<double>(resident) / static_cast<double>(checked);
}

/// The stages that read from a source, with how long they starved for it.
std::set<std::string> add_first_consumers(const RunReport& report, RunMechanism& mechanism) {
  std::set<std::string> names;
  double starved = 0;
  double slot_time = 0;
  for (const auto& link : report.links) {
    const StageReport* const consumer = find_stage(report, link.to);
    if (consumer == nullptr || !names_a_source(report, link.from)) continue;
    starved += static_cast<double>(link.starved_ns);
    if (names.insert(link.to).second) slot_time += slot_time_ns(*consumer, report);
  }
  mechanism.starved_share = share(starved, slot_time);
  return names;
}

/// The longest wait at the place where reading and the rest meet: of a source, or of whoever reads from one.
void add_waiting(const RunReport& report, const std::set<std::string>& consumers, RunMechanism& mechanism) {
  for (const auto& row : report.blame) {
    const StageReport* const stage = find_stage(report, row.waiting);
    if (stage == nullptr || (!is_source(*stage) && !consumers.contains(row.waiting))) continue;
    const double waited = share(static_cast<double>(row.ns), slot_time_ns(*stage, report));
    if (waited <= mechanism.waited_share) continue;
    mechanism.waited_share = waited;
    mechanism.waiting = row.waiting;
    mechanism.cause = row.cause;
  }
}

void add_cores(const RunReport& report, std::uint64_t bytes, RunMechanism& mechanism) {
  constexpr double kGib = 1ULL << 30;
  std::int64_t on_cpu = 0;
  std::int64_t delay = 0;
  for (const auto& stage : report.stages) {
    on_cpu += stage.busy.on_cpu_ns;
    delay += stage.busy.run_delay_ns;
  }
  if (bytes > 0) mechanism.cpu_s_per_gib = seconds(on_cpu) / (static_cast<double>(bytes) / kGib);
  if (on_cpu + delay > 0) {
    mechanism.run_delay_share = static_cast<double>(delay) / static_cast<double>(on_cpu + delay);
  }
}

}  // namespace

ComparisonRun facts_of(const RunReport& report) {
  ComparisonRun run;
  run.wall_ns = report.wall_ns;
  for (const auto& stage : report.stages) {
    if (!is_source(stage)) continue;
    run.bytes += stage.bytes_out;
    run.chunks += stage.chunks_out;
  }
  const auto amount = static_cast<double>(counts_bytes(run) ? run.bytes : run.chunks);
  run.rate = share(amount, seconds(report.wall_ns));
  run.cache_resident_at_read = report.cache.resident_before_fraction;
  run.verdict = verdict_key(report.verdict);
  run.confidence = report.verdict.confidence;
  for (const auto& line : report.verdict.cannot_help) {
    if (line.starts_with(kAnyReadSetting)) run.reading_cannot_help = line;
  }
  run.reader_limits = blames_reading(report, !run.reading_cannot_help.empty());
  add_sources(report, run.mechanism);
  add_waiting(report, add_first_consumers(report, run.mechanism), run.mechanism);
  add_cores(report, run.bytes, run.mechanism);
  return run;
}

}  // namespace millrace
