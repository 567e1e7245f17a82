#include "pipeline/experiment/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace millrace {
namespace {

/// Waits below this share of slot time are not worth a word.
constexpr double kHardlyWaited = 0.01;

std::vector<const ComparisonRun*> counted_runs(const ArmReport& arm) {
  std::vector<const ComparisonRun*> result;
  for (const auto& run : arm.runs) {
    if (!run.excluded) result.push_back(&run);
  }
  return result;
}

double median(std::vector<double> values, double otherwise) {
  if (values.empty()) return otherwise;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Over the runs in which it is known.
double median_of(const std::vector<const ComparisonRun*>& runs, double RunMechanism::*field) {
  std::vector<double> known;
  for (const auto* run : runs) {
    if (run->mechanism.*field >= 0) known.push_back(run->mechanism.*field);
  }
  return median(std::move(known), -1);
}

/// Who waited for whom in most of the waiting.
void add_waiting(const std::vector<const ComparisonRun*>& runs, ArmMechanism& mechanism) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> waits;
  for (const auto* run : runs) {
    const RunMechanism& one = run->mechanism;
    if (one.waited_share >= kHardlyWaited) waits[{one.waiting, one.cause}].push_back(one.waited_share);
  }
  double most = 0;
  mechanism.who_waited = runs.empty() ? "" : "nobody waited";
  for (const auto& [who, shares] : waits) {
    double sum = 0;
    for (const double share : shares) sum += share;
    if (sum <= most) continue;
    most = sum;
    mechanism.median.waiting = who.first;
    mechanism.median.cause = who.second;
    mechanism.median.waited_share = median(shares, 0);
    const std::string cause = who.second == "(workers)" ? "a worker" : who.second;
    mechanism.who_waited =
        fmt::format("{} waited for {} {:.0f} %", who.first, cause, mechanism.median.waited_share * 100);
    if (shares.size() < runs.size()) mechanism.who_waited += fmt::format(", {} of {}", shares.size(), runs.size());
  }
}

void add_remarks(const std::vector<const ComparisonRun*>& runs, ArmMechanism& mechanism) {
  for (const auto* run : runs) {
    if (run->mechanism.transport_refused.empty()) continue;
    mechanism.remarks.push_back(fmt::format("asked for {}, which does not work at this place: {} ran",
                                            run->mechanism.transport_refused, run->mechanism.transport));
    break;
  }
}

ArmMechanism mechanism_of(const ArmReport& arm) {
  const auto runs = counted_runs(arm);
  ArmMechanism mechanism;
  for (const auto field :
       {&RunMechanism::io_wait_s, &RunMechanism::io_wait_share, &RunMechanism::starved_share,
        &RunMechanism::advice_resident, &RunMechanism::cpu_s_per_gib, &RunMechanism::run_delay_share}) {
    mechanism.median.*field = median_of(runs, field);
  }
  std::vector<double> hits;
  for (const auto* run : runs) {
    hits.push_back(static_cast<double>(run->mechanism.hit_bytes));
    ++mechanism.verdicts[run->verdict];
    if (mechanism.median.transport.empty()) mechanism.median.transport = run->mechanism.transport;
    if (!run->mechanism.transport_refused.empty()) {
      mechanism.median.transport_refused = run->mechanism.transport_refused;
    }
  }
  mechanism.median.hit_bytes = static_cast<std::uint64_t>(median(std::move(hits), 0));
  add_waiting(runs, mechanism);
  add_remarks(runs, mechanism);
  return mechanism;
}

void add_effects(ComparisonReport& report) {
  const Comparison comparison = compare(rates_of(report), report.design);
  for (std::size_t i = 0; i < report.arms.size() && i < comparison.arms.size(); ++i) {
    report.arms[i].effect = comparison.arms[i];
  }
  report.noise_floor = comparison.noise_floor;
  report.minimal_detectable_ratio = comparison.minimal_detectable_ratio;
  report.log_sd = comparison.log_sd;
  report.decided = comparison.decided;
  report.blocks_planned = comparison.blocks_planned;
  report.blocks_needed = comparison.blocks_needed;
}

/// The first run whose outputs are not those of the first run with the same input.
void check_outputs(ComparisonReport& report) {
  struct First {
    const ArmReport* arm;
    const ComparisonRun* run;
  };
  std::map<std::string, First> first;
  report.identical_output = true;
  report.output_difference.clear();
  for (const auto& [arm, run] : runs_in_order(report)) {
    const auto [known, added] = first.try_emplace(run->input, First{arm, run});
    if (added) continue;
    const std::string difference = difference_of(*known->second.run, *run);
    if (difference.empty()) continue;
    report.identical_output = false;
    report.output_difference = fmt::format("arm '{}', repeat {}: {} of arm '{}', repeat {}", arm->label, run->block + 1,
                                           difference, known->second.arm->label, known->second.run->block + 1);
    return;
  }
}

void list_excluded(ComparisonReport& report) {
  report.excluded.clear();
  for (const auto& [arm, run] : runs_in_order(report)) {
    if (run->excluded) report.excluded.push_back({arm->label, run->block, run->reason});
  }
}

/// An arm of which nothing is left cannot be compared; it is said, not passed over.
void check_arms(ComparisonReport& report) {
  for (const auto& arm : report.arms) {
    if (arm.runs.empty() || !counted_runs(arm).empty()) continue;
    report.status = "failed";
    report.error = fmt::format("every run of arm '{}' was left out: {}", arm.label, arm.runs.front().reason);
    return;
  }
}

void judge_reading(ComparisonReport& report) {
  report.reading_never_limits = false;
  report.reading_evidence.clear();
  std::uint32_t all = 0;
  for (const auto& arm : report.arms) {
    std::uint32_t excused = 0;
    for (const auto& run : arm.runs) {
      if (run.reader_limits) return;
      if (!run.reading_cannot_help.empty()) ++excused;
    }
    // Short of this, the runs only fail to blame the reader; they do not clear it.
    if (excused * 2 < arm.runs.size() || arm.runs.empty()) return;
    all += static_cast<std::uint32_t>(arm.runs.size());
  }
  if (all == 0) return;
  report.reading_never_limits = true;
  report.reading_evidence.push_back(fmt::format("reading was the bottleneck in none of {} runs", all));
  double starved = 0;
  const ArmReport* worst = nullptr;
  for (const auto& arm : report.arms) {
    if (worst != nullptr && arm.mechanism.median.starved_share <= starved) continue;
    starved = arm.mechanism.median.starved_share;
    worst = &arm;
  }
  if (worst != nullptr && starved >= 0) {
    report.reading_evidence.push_back(
        fmt::format("what reads from the source starved at most {:.1f} % of its time (median of '{}')", starved * 100,
                    worst->label));
  }
}

}  // namespace

const char* name_of(CacheMode mode) {
  switch (mode) {
    case CacheMode::cold:
      return "cold";
    case CacheMode::warm:
      return "warm";
    case CacheMode::as_is:
      break;
  }
  return "as-is";
}

std::vector<std::pair<const ArmReport*, const ComparisonRun*>> runs_in_order(const ComparisonReport& report) {
  std::vector<std::pair<const ArmReport*, const ComparisonRun*>> result;
  for (const auto& arm : report.arms) {
    for (const auto& run : arm.runs) result.emplace_back(&arm, &run);
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& left, const auto& right) {
    return std::pair(left.second->block, left.second->order) < std::pair(right.second->block, right.second->order);
  });
  return result;
}

std::string difference_of(const ComparisonRun& expected, const ComparisonRun& run) {
  if (run.outputs.size() != expected.outputs.size()) {
    return fmt::format("{} outputs, against {}", run.outputs.size(), expected.outputs.size());
  }
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const OutputDigest& here = run.outputs[i];
    const OutputDigest& there = expected.outputs[i];
    if (here.bytes != there.bytes) {
      return fmt::format("{} has {} bytes, against {}", here.path, here.bytes, there.bytes);
    }
    if (here.sha256 != there.sha256) return fmt::format("{} has other bytes than that", here.path);
  }
  return "";
}

RatesByBlock rates_of(const ComparisonReport& report) {
  std::size_t blocks = 0;
  for (const auto& arm : report.arms) {
    for (const auto& run : arm.runs) blocks = std::max<std::size_t>(blocks, run.block + 1);
  }
  RatesByBlock rates(report.arms.size(), std::vector<std::optional<double>>(blocks));
  for (std::size_t i = 0; i < report.arms.size(); ++i) {
    for (const auto& run : report.arms[i].runs) {
      if (!run.excluded && run.rate > 0) rates[i][run.block] = run.rate;
    }
  }
  return rates;
}

std::optional<double> p_of_verdict(const ArmEffect& effect, std::size_t arm) {
  if (arm == 0) return std::nullopt;
  return arm == 1 ? effect.p_value : effect.p_claim;
}

void complete_comparison(ComparisonReport& report) {
  add_effects(report);
  for (auto& arm : report.arms) arm.mechanism = mechanism_of(arm);
  list_excluded(report);
  check_arms(report);
  check_outputs(report);
  if (!report.identical_output) {
    report.status = "failed";
    report.error = "the outputs differ: " + report.output_difference;
  }
  judge_reading(report);
}

}  // namespace millrace
