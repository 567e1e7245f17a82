#include "pipeline/experiment/comparison_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/html_page.h"
#include "pipeline/throughput.h"

namespace millrace::html {
namespace {

constexpr double kWidth = 1000;
constexpr double kLabels = 260;  ///< left of it are the names
constexpr double kRow = 26;
constexpr double kAxis = 24;
/// A label is cut after this many characters; the table has it whole.
constexpr std::size_t kLabelLength = 40;

std::string shortened(const std::string& label) {
  if (label.size() <= kLabelLength) return escaped(label);
  std::size_t end = kLabelLength - 3;
  while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xC0U) == 0x80U) --end;
  return escaped(label.substr(0, end)) + "...";
}

std::string open_svg(double height, const std::string& title) {
  return fmt::format("<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, height,
                     escaped(title));
}

std::string label_of(const ArmReport& arm, double y) {
  return fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLabels - 10, y + 4,
                     shortened(arm.label));
}

bool is_ratio(const std::optional<double>& value) { return value && std::isfinite(*value) && *value > 0; }

/// Logarithmic, symmetric about 1, so that twice as fast is as far to the right as half as fast to the left.
class RatioAxis {
 public:
  explicit RatioAxis(const ComparisonReport& report) {
    const auto take = [this](double ratio) { reach_ = std::max(reach_, std::abs(std::log(ratio))); };
    take(1 + std::min(report.design.equivalence_margin, 1.0));
    if (is_ratio(report.noise_floor)) take(*report.noise_floor);
    for (const auto& arm : report.arms) {
      if (arm.effect.blocks == 0) continue;
      if (is_ratio(arm.effect.ratio)) take(arm.effect.ratio);
      if (is_ratio(arm.effect.low)) take(*arm.effect.low);
      if (is_ratio(arm.effect.high)) take(*arm.effect.high);
    }
    reach_ *= 1.08;
  }

  double x(double ratio) const {
    const double middle = (kLabels + kWidth) / 2;
    const double half = (kWidth - kLabels) / 2 - 10;
    return middle + std::clamp(std::log(ratio) / reach_, -1.0, 1.0) * half;
  }
  double reach() const { return reach_; }

 private:
  double reach_ = 0.02;
};

std::string band(const RatioAxis& axis, const char* css, double low, double high, double height,
                 const std::string& title) {
  return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{}\"><title>{}</title></rect>",
                     css, axis.x(low), axis.x(high) - axis.x(low), height, escaped(title));
}

std::string tick(const RatioAxis& axis, double ratio, double height) {
  return fmt::format(
      "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
      "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.3g}x</text>",
      axis.x(ratio), height, height + 5, height + 18, ratio);
}

}  // namespace

std::string forest_plot(const ComparisonReport& report) {
  const bool any = std::any_of(report.arms.begin(), report.arms.end(), [](const ArmReport& arm) {
    return arm.effect.blocks > 0 && is_ratio(arm.effect.ratio);
  });
  if (!any) return "";
  const RatioAxis axis(report);
  const double height = kRow * static_cast<double>(report.arms.size());
  std::string out = open_svg(height + kAxis, "ratio to the baseline with its interval, for each arm");
  const double margin = std::clamp(report.design.equivalence_margin, 0.0, 0.99);
  out += band(axis, "margin", 1 - margin, 1 + margin, height, fmt::format("equivalent: within {:.3g} %", margin * 100));
  if (is_ratio(report.noise_floor) && *report.noise_floor >= 1)
    out += band(axis, "band", 1 / *report.noise_floor, *report.noise_floor, height,
                fmt::format("noise floor: {:.3f}", *report.noise_floor));
  out += fmt::format("<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>", axis.x(1), height);
  for (std::size_t i = 0; i < report.arms.size(); ++i) {
    const ArmReport& arm = report.arms[i];
    const double y = kRow * (static_cast<double>(i) + 0.5);
    out += label_of(arm, y);
    if (arm.effect.blocks == 0 || !is_ratio(arm.effect.ratio)) continue;
    std::string numbers = fmt::format("{}: {:.3f}", escaped(arm.label), arm.effect.ratio);
    if (is_ratio(arm.effect.low) && is_ratio(arm.effect.high)) {
      out += fmt::format("<line class=\"whisker\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
                         axis.x(*arm.effect.low), axis.x(*arm.effect.high), y, y);
      numbers += fmt::format(" ({:.3f} to {:.3f})", *arm.effect.low, *arm.effect.high);
    }
    out += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{}</title></circle>",
                       axis.x(arm.effect.ratio), y, numbers);
  }
  for (const double share : {-0.9, -0.45, 0.0, 0.45, 0.9}) out += tick(axis, std::exp(share * axis.reach()), height);
  return out +
         "</svg><figcaption>Times as fast as the baseline. Green: equivalent. Grey: noise floor, what two identical "
         "arms differed by.</figcaption></figure>\n";
}

std::string run_plot(const ComparisonReport& report) {
  double most = 0;
  double last = 0;
  const auto place = [&](const ComparisonRun& run) {
    return static_cast<double>(run.block) * static_cast<double>(report.arms.size()) + static_cast<double>(run.order);
  };
  for (const auto& arm : report.arms)
    for (const auto& run : arm.runs) {
      if (std::isfinite(run.rate)) most = std::max(most, run.rate);
      last = std::max(last, place(run));
    }
  if (most <= 0) return "";
  constexpr double kTall = 60;
  const double height = kTall * static_cast<double>(report.arms.size());
  const bool counts_bytes = report.unit != "chunks";
  std::string out = open_svg(height + 6, "rate of every run in the order in which they were done");
  for (std::size_t i = 0; i < report.arms.size(); ++i) {
    const ArmReport& arm = report.arms[i];
    const double floor = kTall * static_cast<double>(i + 1);
    out += label_of(arm, floor - kTall / 2);
    out += fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLabels, kWidth, floor,
                       floor);
    for (const auto& run : arm.runs) {
      const double x = kLabels + 10 + (kWidth - kLabels - 20) * (last > 0 ? place(run) / last : 0.5);
      const double y = floor - 4 - (kTall - 14) * (std::isfinite(run.rate) ? std::max(0.0, run.rate) / most : 0);
      const std::string title =
          escaped(fmt::format("repeat {}, {}{}", run.block + 1, format_rate(run.rate, counts_bytes),
                              run.excluded ? ", left out: " + run.reason : ""));
      if (run.excluded)
        out += fmt::format("<path class=\"out\" d=\"M{0:.1f} {1:.1f}l8 8m0 -8l-8 8\"><title>{2}</title></path>", x - 4,
                           y - 4, title);
      else
        out += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}</title></circle>", x, y,
                           title);
    }
  }
  return out + fmt::format(
                   "</svg><figcaption>Rates from 0 to {} in each row, left to right in the order of the runs; "
                   "crossed: left out.</figcaption></figure>\n",
                   format_rate(most, counts_bytes));
}

}  // namespace millrace::html
