#include "pipeline/experiment/comparison_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace millrace {
namespace {

constexpr std::size_t kColumns = 100;
/// Labels up to this stand in the line of their figures.
constexpr std::size_t kLabelWidth = 22;
constexpr std::size_t kVerdictWidth = 13;
constexpr double kMib = 1ULL << 20;
/// From this share of the wanted core time on, other work on the machine had a part in the result.
constexpr double kOtherLoad = 0.1;

/// `parts` behind each other with `gap` between them; lines that would be too long go on, indented.
std::string wrapped(const std::vector<std::string>& parts, const std::string& first, const std::string& gap) {
  std::string text;
  std::string line = first;
  bool empty = true;
  for (const auto& part : parts) {
    if (!empty && line.size() + gap.size() + part.size() > kColumns) {
      text += line + "\n";
      line = std::string(first.find_first_not_of(' ') == std::string::npos ? first.size() : 2, ' ');
      empty = true;
    }
    line += (empty ? "" : gap) + part;
    empty = false;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return text + line + "\n";
}

std::string sentence(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char character : text) {
    if (character == ' ') {
      words.emplace_back();
    } else {
      words.back() += character;
    }
  }
  const std::string first = words.front();
  words.erase(words.begin());
  return words.empty() ? first + "\n" : wrapped(words, first + " ", " ");
}

/// "3.2 %" for a ratio of 1.032, "7.4-fold" where percents say little.
std::string difference(double ratio) {
  constexpr double kPercentsUpTo = 2;
  constexpr double kBeyondMeasure = 100;
  if (ratio > kBeyondMeasure) return "more than 100-fold";
  return ratio > kPercentsUpTo ? fmt::format("{:.1f}-fold", ratio) : fmt::format("{:.1f} %", (ratio - 1) * 100);
}

std::string rate_text(double rate, const ComparisonReport& report) {
  const double value = report.unit == "bytes" ? rate / kMib : rate;
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.3g}", value);
}

std::string rate_unit(const ComparisonReport& report) { return report.unit == "bytes" ? "MiB/s" : "chunks/s"; }

std::string p_text(const std::optional<double>& p) {
  if (!p) return "-";
  return *p < 0.001 ? "<0.001" : fmt::format("{:.3f}", *p);
}

/// "cold": whether the bytes were there in time; "-" where nobody looked.
std::string in_time_text(const ArmReport& arm) {
  const double share = arm.mechanism.median.advice_resident;
  return share < 0 ? "-" : fmt::format("{:.0f} %", share * 100);
}

std::string verdict_word(const ComparisonReport& report, std::size_t arm) {
  if (arm == 0) return "baseline";
  return arm == 1 ? "(A/A)" : name_of(report.arms[arm].effect.verdict);
}

std::string arm_line(const ComparisonReport& report, std::size_t index) {
  const ArmReport& arm = report.arms[index];
  const ArmEffect& effect = arm.effect;
  const std::string ratio = effect.blocks == 0 ? "-" : fmt::format("{:.3f}", effect.ratio);
  const std::string interval =
      effect.low && effect.high ? fmt::format("{:.3f} .. {:.3f}", *effect.low, *effect.high) : "-";
  const std::string p = p_text(p_of_verdict(effect, index));
  std::string text;
  std::string label = arm.label;
  if (label.size() > kLabelWidth) {
    text = label + "\n";
    label.clear();
  }
  text += fmt::format("{:<{}} {:>6}  {:>16} {:>6}  {:<{}} {:>7}", label, kLabelWidth, ratio, interval, p,
                      verdict_word(report, index), kVerdictWidth, in_time_text(arm));
  while (text.back() == ' ') text.pop_back();
  return text + "\n";
}

std::string rates_line(const ComparisonReport& report, const ArmReport& arm) {
  std::vector<const ComparisonRun*> runs;
  for (const auto& run : arm.runs) runs.push_back(&run);
  std::sort(runs.begin(), runs.end(), [](const auto* left, const auto* right) { return left->block < right->block; });
  std::vector<std::string> parts;
  for (const auto* run : runs) {
    const std::string rate = rate_text(run->rate, report);
    parts.push_back(run->excluded ? "[" + rate + "]" : rate);
  }
  if (!parts.empty()) parts.back() += " " + rate_unit(report);
  return wrapped(parts, "    ", " ");
}

std::string mechanism_line(const ArmReport& arm) {
  const RunMechanism& median = arm.mechanism.median;
  std::vector<std::string> parts;
  if (!arm.mechanism.who_waited.empty()) parts.push_back(arm.mechanism.who_waited);
  for (const auto& [verdict, count] : arm.mechanism.verdicts) parts.push_back(fmt::format("{} x {}", count, verdict));
  if (!arm.runs.empty()) {
    parts.push_back(fmt::format("the source waited {:.2f} s for I/O", std::max(median.io_wait_s, 0.0)));
  }
  if (median.cpu_s_per_gib >= 0) parts.push_back(fmt::format("{:.2f} CPU s/GiB", median.cpu_s_per_gib));
  return wrapped(parts, "    ", "; ");
}

std::string head(const ComparisonReport& report) {
  const std::size_t done = report.blocks.size();
  std::string text = fmt::format("{}: {} arms and the baseline again, {} {}", report.name, report.arms.size() - 1, done,
                                 done == 1 ? "repeat" : "repeats");
  if (done < report.design.blocks) text += fmt::format(" of {} at most", report.design.blocks);
  const char* const cache = report.cache == CacheMode::as_is ? "cache as it was found" : nullptr;
  text += cache != nullptr ? fmt::format(", {}", cache) : fmt::format(", {} cache", name_of(report.cache));
  text += fmt::format(", seed {}, on {}", report.seed, report.environment.host);
  return sentence(text);
}

std::string table(const ComparisonReport& report) {
  std::string text = fmt::format("{:<{}} {:>6}  {:>16} {:>6}  {:<{}} {:>7}\n", "setting", kLabelWidth, "ratio",
                                 fmt::format("{:.0f} % interval", report.design.confidence * 100), "p", "verdict",
                                 kVerdictWidth, "in time");
  text += fmt::format("    {} of every repeat\n    who waited for whom; verdicts of the runs; medians of the runs\n",
                      rate_unit(report));
  for (std::size_t i = 0; i < report.arms.size(); ++i) {
    text += arm_line(report, i) + rates_line(report, report.arms[i]) + mechanism_line(report.arms[i]);
  }
  return text;
}

std::string design_text(const ComparisonReport& report) {
  std::string text;
  text +=
      report.noise_floor
          ? sentence(fmt::format("noise floor: the baseline against itself differs by up to {}; no smaller effect is "
                                 "called one.",
                                 difference(*report.noise_floor)))
          : "noise floor: not known with fewer than two repeats of the baseline\n";
  if (report.minimal_detectable_ratio) {
    text += sentence(fmt::format("smallest effect that this design finds ({:.0f} % of the time): {}.",
                                 report.design.power * 100, difference(*report.minimal_detectable_ratio)));
  }
  if (report.design.detect) {
    text +=
        sentence(fmt::format("looked for effects of {:.3g} %: {} of at most {} repeats done{}.",
                             *report.design.detect * 100, report.blocks.size(), report.design.blocks,
                             report.decided && report.blocks.size() < report.design.blocks ? ", all is decided" : ""));
    if (report.blocks_needed && *report.blocks_needed > report.design.blocks) {
      text += sentence(fmt::format("too small for that: at this noise it takes {} repeats.", *report.blocks_needed));
    }
  }
  if (!report.ended_early.empty()) text += sentence("ended early: " + report.ended_early);
  return text;
}

std::string direction_text(const ComparisonReport& report) {
  std::string text;
  for (std::size_t i = 2; i < report.arms.size(); ++i) {
    const ArmEffect& effect = report.arms[i].effect;
    if (effect.faster_blocks == 0 || effect.slower_blocks == 0) continue;
    text += sentence(fmt::format("the repeats disagree on '{}': faster in {}, slower in {}.", report.arms[i].label,
                                 effect.faster_blocks, effect.slower_blocks));
  }
  return text;
}

std::string further_text(const ComparisonReport& report) {
  std::vector<std::string> parts;
  for (std::size_t i = 2; i < report.arms.size(); ++i) {
    const ArmEffect& effect = report.arms[i].effect;
    if (effect.verdict != ArmVerdict::inconclusive) continue;
    parts.push_back(fmt::format("'{}' {}", report.arms[i].label,
                                effect.further_blocks ? fmt::format("{}", *effect.further_blocks) : "not known"));
  }
  if (parts.empty()) return "";
  return sentence(
      fmt::format("inconclusive; further repeats that would decide it, at this noise: {}.", fmt::join(parts, ", ")));
}

std::string excluded_text(const ComparisonReport& report) {
  std::string text;
  for (const auto& run : report.excluded) {
    text += sentence(fmt::format("left out: '{}', repeat {}: {}.", run.arm, run.block + 1, run.reason));
  }
  return text;
}

std::string remarks_text(const ComparisonReport& report) {
  std::string text;
  for (const auto& arm : report.arms) {
    for (const auto& remark : arm.mechanism.remarks) text += sentence(fmt::format("'{}': {}.", arm.label, remark));
  }
  return text;
}

std::string other_load_text(const ComparisonReport& report) {
  std::size_t contended = 0;
  const ArmReport* most = nullptr;
  for (const auto& arm : report.arms) {
    const double share = arm.mechanism.median.run_delay_share;
    if (share < kOtherLoad) continue;
    ++contended;
    if (most == nullptr || share > most->mechanism.median.run_delay_share) most = &arm;
  }
  if (most == nullptr) return "other load: none to speak of\n";
  return sentence(fmt::format(
      "other load: with {} of {} settings, threads waited for a core {:.0f} % or more of the time "
      "that they wanted one (most with '{}': {:.0f} %).",
      contended, report.arms.size(), kOtherLoad * 100, most->label, most->mechanism.median.run_delay_share * 100));
}

std::string order_text(const ComparisonReport& report) {
  std::vector<std::string> parts;
  for (const auto& block : report.blocks) {
    std::vector<std::size_t> numbers;
    for (const std::size_t arm : block) numbers.push_back(arm + 1);
    parts.push_back(fmt::format("{}", fmt::join(numbers, " ")));
  }
  return parts.empty() ? "" : wrapped(parts, "order of the settings in each repeat, by their line: ", " | ");
}

std::string output_text(const ComparisonReport& report) {
  std::size_t runs = 0;
  std::size_t outputs = 0;
  for (const auto& arm : report.arms) {
    runs += arm.runs.size();
    for (const auto& run : arm.runs) outputs = std::max(outputs, run.outputs.size());
  }
  if (!report.identical_output) return "";  // it is the error
  if (outputs == 0) return "outputs: none is written, so there is none to compare\n";
  return fmt::format("outputs: identical in all {} runs (SHA-256)\n", runs);
}

}  // namespace

std::string to_text(const ComparisonReport& report) {
  std::string text = head(report) + "\n" + table(report) + "\n" + design_text(report) + direction_text(report) +
                     further_text(report) + excluded_text(report) + remarks_text(report) + other_load_text(report) +
                     output_text(report) + order_text(report);
  if (report.reading_never_limits) {
    text += sentence(fmt::format("no read setting can help this run: {}.", fmt::join(report.reading_evidence, "; ")));
  }
  if (!report.error.empty()) text += sentence("FAILED: " + report.error);
  return text;
}

}  // namespace millrace
