#include "pipeline/experiment/merged_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace millrace {
namespace {

/// Machines differ in an effect by more than noise: Cochran's Q at this level, as is usual for it.
constexpr double kSameEffect = 0.1;

std::string difference_from(const ComparisonReport& first, const ComparisonReport& other) {
  if (other.config_sha256 != first.config_sha256) return "it is of another config";
  if (other.arms.size() != first.arms.size()) return "it has other arms";
  for (std::size_t i = 0; i < first.arms.size(); ++i) {
    if (other.arms[i].label != first.arms[i].label || other.arms[i].overrides != first.arms[i].overrides) {
      return fmt::format("its arm {} is '{}', not '{}'", i + 1, other.arms[i].label, first.arms[i].label);
    }
  }
  if (other.cache != first.cache) {
    return fmt::format("its cache was {}, not {}", name_of(other.cache), name_of(first.cache));
  }
  return other.unit == first.unit ? "" : fmt::format("its rates are of {}, not of {}", other.unit, first.unit);
}

std::string interval_text(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? fmt::format("{:.3f} .. {:.3f}", *low, *high) : "-";
}

struct Widths {
  std::size_t setting = 7;
  std::size_t machine = 7;
};

std::string row(const Widths& widths, const std::string& setting, const std::string& machine,
                const std::string& repeats, const std::string& ratio, const std::string& interval,
                const std::string& remark) {
  std::string line = fmt::format("{:<{}}  {:<{}} {:>8} {:>7}  {:>16}  {}", setting, widths.setting, machine,
                                 widths.machine, repeats, ratio, interval, remark);
  while (line.back() == ' ') line.pop_back();
  return line + "\n";
}

std::string arm_rows(const Widths& widths, const std::string& label, const MergedArm& arm) {
  std::string text;
  std::string setting = label;
  for (const auto& host : arm.hosts) {
    text += row(widths, setting, host.host, fmt::format("{}", host.blocks), fmt::format("{:.3f}", host.ratio),
                interval_text(host.low, host.high), "");
    setting.clear();
  }
  std::string remark;
  if (arm.p_same_effect && *arm.p_same_effect < kSameEffect) {
    remark = fmt::format("machines disagree (p {:.3f})", *arm.p_same_effect);
  }
  return text + row(widths, "", "all", "", arm.hosts_used == 0 ? "-" : fmt::format("{:.3f}", arm.ratio),
                    interval_text(arm.low, arm.high), remark);
}

std::string variance_text(const MergedComparison& merged) {
  if (!merged.variance) return fmt::format("variance of the rates: not split, {}\n", merged.variance_refused);
  const VarianceSplit& split = *merged.variance;
  std::string text = "variance of the rates (sums of squares of their logarithms)\n";
  const auto part = [&text](const char* name, const VariancePart& value) {
    text += fmt::format("  {:<28} {:>5.1f} %\n", name, value.share * 100);
  };
  part("which machine", split.machine);
  part("which setting", split.setting);
  part("which setting, by machine", split.machine_by_setting);
  part("which repeat", split.block);
  part("single runs", split.rest);
  text += fmt::format("  made from {} repeats in which every run counts", split.blocks);
  if (split.blocks_left_out > 0) text += fmt::format("; {} were left out", split.blocks_left_out);
  return text + "\n";
}

}  // namespace

std::string why_not_mergeable(const std::vector<ComparisonReport>& reports) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::string difference = difference_from(reports.front(), reports[i]);
    if (!difference.empty()) return fmt::format("report {} cannot be merged with the first: {}", i + 1, difference);
    if (reports[i].status != "ok")
      return fmt::format("report {} is of a failed comparison: {}", i + 1, reports[i].error);
  }
  return "";
}

std::vector<HostRates> host_rates_of(const std::vector<ComparisonReport>& reports) {
  std::vector<HostRates> result;
  result.reserve(reports.size());
  for (const auto& report : reports) result.push_back({report.environment.host, rates_of(report)});
  return result;
}

std::string merged_text(const std::vector<ComparisonReport>& reports, const MergedComparison& merged) {
  std::set<std::string> hosts;
  Widths widths;
  for (const auto& report : reports) {
    hosts.insert(report.environment.host);
    widths.machine = std::max(widths.machine, report.environment.host.size());
  }
  const ComparisonReport& first = reports.front();
  for (const auto& arm : first.arms) widths.setting = std::max(widths.setting, arm.label.size());
  std::string text = fmt::format(
      "{}: {} reports of {} {}, {}\n\n", first.name, reports.size(), hosts.size(),
      hosts.size() == 1 ? "machine" : "machines",
      first.cache == CacheMode::as_is ? "cache as it was found" : fmt::format("{} cache", name_of(first.cache)));
  text += row(widths, "setting", "machine", "repeats", "ratio", "95 % interval", "");
  for (std::size_t i = 1; i < merged.arms.size(); ++i) text += arm_rows(widths, first.arms[i].label, merged.arms[i]);
  return text + "\n" + variance_text(merged);
}

}  // namespace millrace
