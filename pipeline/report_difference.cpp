#include "pipeline/report_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "pipeline/core/error.h"
#include "pipeline/differing_facts.h"
#include "pipeline/rate_interval.h"
#include "pipeline/throughput.h"
#include "pipeline/verdict.h"
#include "pipeline/verdict_words.h"

namespace millrace {
namespace {

/// Changes below this share of the first run's wall time are not listed.
constexpr double kWorthARow = 0.01;
/// Below this part of the other's input, start and end weigh too differently for the rates to say anything.
constexpr double kLeastInputRatio = 0.1;

std::array<std::int64_t, kSlotParts> parts_of(const StageReport& stage) {
  return {stage.busy.on_cpu_ns,  stage.busy.io_wait_ns, stage.busy.run_delay_ns, stage.busy.other_wait_ns,
          stage.time.starved_ns, stage.time.blocked_ns, stage.time.ready_ns,     stage.time.done_ns};
}

double units_of(const RunSide& side, bool by_bytes) {
  return by_bytes ? static_cast<double>(side.bytes) / static_cast<double>(1ULL << 30)
                  : static_cast<double>(side.chunks) / 1000;
}

RunSide side_of(const RunReport& report) {
  RunSide side;
  side.name = report.name;
  side.status = report.status;
  side.started = report.started;
  side.wall_ns = report.wall_ns;
  const Delivered all = delivered(report);
  side.bytes = all.bytes;
  side.chunks = all.chunks;
  side.peak_rss_bytes = report.memory.peak_rss_bytes;
  side.verdict = verdict_title(report.verdict);
  side.confidence = report.verdict.kind == "none" ? "" : report.verdict.confidence;
  return side;
}

void add_rates(RunDifference& result, bool by_bytes) {
  for (RunSide* side : {&result.first, &result.second})
    if (side->wall_ns > 0)
      side->rate =
          static_cast<double>(by_bytes ? side->bytes : side->chunks) * 1e9 / static_cast<double>(side->wall_ns);
  if (result.first.rate > 0) result.ratio = result.second.rate / result.first.rate;
}

std::string not_comparable(const RunDifference& difference, bool by_bytes) {
  const RunSide& first = difference.first;
  const RunSide& second = difference.second;
  for (const auto& [which, side] : {std::pair<const char*, const RunSide&>{"first", first}, {"second", second}})
    if (side.status != "ok") return fmt::format("the {} run is '{}'", which, side.status);
  if (first.rate <= 0 || second.rate <= 0) return "a run delivered nothing";
  if ((first.bytes > 0) != (second.bytes > 0)) return "only one of the runs counts bytes";
  if (!by_bytes && first.chunks != second.chunks)
    return fmt::format("no bytes are counted, and the runs have {} and {} chunks", first.chunks, second.chunks);
  const double ratio = units_of(second, by_bytes) / units_of(first, by_bytes);
  if (std::min(ratio, 1 / ratio) < kLeastInputRatio)
    return "one run had less than a tenth of the other's input: start and end weigh too differently";
  return "";
}

StageSide side_of(const StageReport& stage, double units) {
  StageSide side;
  side.slots = stage.slots;
  const auto parts = parts_of(stage);
  const auto all = static_cast<double>(stage.time.sum_ns());
  for (std::size_t i = 0; i < kSlotParts; ++i) {
    const auto ns = static_cast<double>(parts.at(i));
    if (all > 0) side.share.at(i) = ns / all;
    if (units > 0) side.seconds.at(i) = ns / 1e9 / units;
  }
  side.p50_ns = stage.call.p50_ns;
  side.p99_ns = stage.call.p99_ns;
  return side;
}

LinkSide side_of(const LinkReport& link, std::int64_t wall_ns) {
  const auto share = [&](std::int64_t ns) {
    return wall_ns > 0 ? static_cast<double>(ns) / static_cast<double>(wall_ns) : 0;
  };
  return {link.capacity_chunks,
          link.capacity_chunks > 0 ? link.mean_chunks / static_cast<double>(link.capacity_chunks) : 0,
          share(link.time_full_ns), share(link.time_empty_ns)};
}

/// The entry of that name, added when it is new.
template <typename Entry>
Entry& entry(std::vector<Entry>& entries, const std::string& name) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& one) { return one.name == name; });
  if (found != entries.end()) return *found;
  entries.emplace_back();
  entries.back().name = name;
  return entries.back();
}

void add_stages_and_links(RunDifference& result, const RunReport& first, const RunReport& second, bool by_bytes) {
  const double first_units = units_of(result.first, by_bytes);
  const double second_units = units_of(result.second, by_bytes);
  for (const auto& stage : first.stages) entry(result.stages, stage.name).first = side_of(stage, first_units);
  for (const auto& stage : second.stages) entry(result.stages, stage.name).second = side_of(stage, second_units);
  const auto name = [](const LinkReport& link) { return link.from + " -> " + link.to; };
  for (const auto& link : first.links) entry(result.links, name(link)).first = side_of(link, first.wall_ns);
  for (const auto& link : second.links) entry(result.links, name(link)).second = side_of(link, second.wall_ns);
}

/// In wall time of the stage's slots together, so that stages of more slots compare with the wall time of the run.
void add_changes(RunDifference& result, bool by_bytes) {
  const double units = units_of(result.first, by_bytes);
  const double wall_s = static_cast<double>(result.first.wall_ns) / 1e9;
  for (const auto& stage : result.stages) {
    if (!stage.first || !stage.second) continue;
    for (std::size_t i = 0; i < kSlotParts; ++i) {
      const TimeChange change{stage.name, static_cast<SlotPart>(i),
                              stage.first->seconds.at(i) * units / stage.first->slots,
                              stage.second->seconds.at(i) * units / stage.second->slots};
      if (std::abs(change.more_s()) >= kWorthARow * wall_s && change.more_s() != 0) result.changes.push_back(change);
    }
  }
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.more_s()) > std::abs(b.more_s()); });
}

}  // namespace

const char* name_of(SlotPart part) {
  constexpr std::array<const char*, kSlotParts> kNames{"cpu",     "io",      "delay", "other",
                                                       "starved", "blocked", "ready", "done"};
  return kNames.at(static_cast<std::size_t>(part));
}

RunDifference difference_between(const RunReport& first, const RunReport& second) {
  RunDifference result;
  result.surroundings = differing_surroundings(first, second);
  result.config = differing_config(first.config_json, second.config_json);
  result.first = side_of(first);
  result.second = side_of(second);
  const bool by_bytes = result.first.bytes > 0 && result.second.bytes > 0;
  result.unit = by_bytes ? "GiB" : "1000 chunks";
  add_rates(result, by_bytes);
  if (result.ratio > 0) result.interval = interval_of_ratio(first, second, result.ratio);
  const double first_units = units_of(result.first, by_bytes);
  const double second_units = units_of(result.second, by_bytes);
  if (first_units > 0 && second_units > 0)
    result.extra_s = (static_cast<double>(result.second.wall_ns) * (first_units / second_units) -
                      static_cast<double>(result.first.wall_ns)) /
                     1e9;
  add_stages_and_links(result, first, second, by_bytes);
  if (first_units > 0 && second_units > 0) add_changes(result, by_bytes);
  result.not_comparable = not_comparable(result, by_bytes);
  return result;
}

SlowerCheck check_slower(const RunDifference& difference, double limit) {
  if (!difference.not_comparable.empty())
    throw config_error("the runs cannot be compared: " + difference.not_comparable);
  SlowerCheck check;
  const double slower = 1 - difference.ratio;
  check.failed = slower > limit;
  const double shown = std::abs(slower) * 100;
  check.reason = fmt::format("the second run is {:.1f} % {}, the limit is {:.3g} % slower", shown,
                             slower >= 0 ? "slower" : "faster", limit * 100);
  if (!difference.interval) {
    check.reason += "; how the rate varied within the runs is not known";
    return check;
  }
  const auto [low, high, first_windows, second_windows] = *difference.interval;
  if (low <= 1 - limit && 1 - limit <= high)
    check.reason +=
        fmt::format("; this may be chance: by their own ups and downs it is {:.3f} to {:.3f} times as fast", low, high);
  return check;
}

std::optional<double> parse_slower_limit(std::string_view text) {
  double scale = 1;
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    if (text.ends_with(' ')) text.remove_suffix(1);
    scale = 100;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  value /= scale;
  if (!(value >= 0 && value < 1)) return {};
  return value;
}

}  // namespace millrace
