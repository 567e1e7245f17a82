#include "pipeline/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "pipeline/core/units.h"
#include "pipeline/drift.h"
#include "pipeline/html_page.h"
#include "pipeline/report_difference.h"
#include "pipeline/throughput.h"
#include "pipeline/verdict.h"

namespace millrace::html {
namespace {

constexpr double kWidth = 1000;
constexpr double kHeight = 100;
/// More points than this no picture shows.
constexpr std::size_t kMostPoints = 400;

using Shares = std::array<double, kSlotParts>;

/// The parts of the slot time between two readings; busy by the proportion of its own parts.
Shares shares_of(const StateTimes& time, const BusySplit& busy) {
  Shares shares{};
  const auto all = static_cast<double>(time.sum_ns());
  if (all <= 0) return shares;
  const auto share = [all](std::int64_t ns) { return std::max(0.0, static_cast<double>(ns)) / all; };
  const std::array<double, 4> parts{share(busy.on_cpu_ns), share(busy.io_wait_ns), share(busy.run_delay_ns),
                                    share(busy.other_wait_ns)};
  const double sum = parts[0] + parts[1] + parts[2] + parts[3];
  for (std::size_t i = 0; i < parts.size(); ++i)
    shares.at(i) = sum > 0 ? parts.at(i) / sum * share(time.busy_ns) : i == 3 ? share(time.busy_ns) : 0;
  shares[4] = share(time.starved_ns);
  shares[5] = share(time.blocked_ns);
  shares[6] = share(time.ready_ns);
  shares[7] = share(time.done_ns);
  return shares;
}

/// The samples that a picture has points for.
std::vector<Sample> points_of(const RunReport& report) {
  std::vector<Sample> samples = complete_samples(report);
  if (samples.size() <= kMostPoints) return samples;
  std::vector<Sample> kept;
  for (std::size_t i = 0; i < kMostPoints; ++i) kept.push_back(samples[i * (samples.size() - 1) / (kMostPoints - 1)]);
  return kept;
}

double x_of(const RunReport& report, const Sample& sample) {
  return kWidth * static_cast<double>(sample.at_ns) / static_cast<double>(std::max<std::int64_t>(1, report.wall_ns));
}

/// An area between two lines over intervals: steps, because the values are means of their intervals.
std::string area(const char* css, const std::vector<double>& x, const std::vector<double>& low,
                 const std::vector<double>& high) {
  std::string path;
  const auto y = [](double value) { return kHeight * (1 - std::clamp(value, 0.0, 1.0)); };
  for (std::size_t i = 0; i < high.size(); ++i)
    path += fmt::format("{}{:.1f} {:.2f} {:.1f} {:.2f}", i == 0 ? "M" : "L", x[i], y(high[i]), x[i + 1], y(high[i]));
  for (std::size_t i = low.size(); i > 0; --i)
    path += fmt::format("L{:.1f} {:.2f} {:.1f} {:.2f}", x[i], y(low[i - 1]), x[i - 1], y(low[i - 1]));
  return fmt::format("<path class=\"{}\" d=\"{}Z\"/>", css, path);
}

std::string chart(const std::string& caption, const std::string& inside, const RunReport& report) {
  return fmt::format(
      "<figure><figcaption>{}</figcaption><svg class=\"chart\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"{}\">{}</svg><figcaption>0:00:00 to {}</figcaption></figure>\n",
      escaped(caption), kWidth, kHeight, escaped(caption), inside, format_run_time(report.wall_ns));
}

/// One value per interval, as an area below it, scaled to the largest.
std::string single_chart(const RunReport& report, const char* css, const std::vector<Sample>& points,
                         const std::vector<double>& values, double scale, const std::string& caption) {
  if (values.empty() || scale <= 0) return "";
  std::vector<double> x;
  for (const auto& point : points) x.push_back(x_of(report, point));
  std::vector<double> high;
  for (const double value : values) high.push_back(value / scale);
  return chart(caption, area(css, x, std::vector<double>(high.size(), 0.0), high), report);
}

}  // namespace

std::string state_bar(const StageReport& stage) {
  const Shares shares = shares_of(stage.time, stage.busy);
  std::string out = fmt::format("<svg class=\"bar\" viewBox=\"0 0 {} 10\" preserveAspectRatio=\"none\">", kWidth);
  double at = 0;
  for (std::size_t i = 0; i < kSlotParts; ++i) {
    const char* const name = name_of(static_cast<SlotPart>(i));
    if (shares.at(i) <= 0) continue;
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"10\"><title>{} {:.1f} %</title></rect>",
        name, kWidth * at, kWidth * shares.at(i), name, shares.at(i) * 100);
    at += shares.at(i);
  }
  return out + "</svg>";
}

std::string state_chart(const RunReport& report, std::size_t stage) {
  const std::vector<Sample> points = points_of(report);
  if (points.size() < 3) return "";
  std::vector<double> x{x_of(report, points.front())};
  std::array<std::vector<double>, kSlotParts + 1> tops;
  for (std::size_t k = 1; k < points.size(); ++k) {
    x.push_back(x_of(report, points[k]));
    const Sample::PerStage& from = points[k - 1].stages[stage];
    const Sample::PerStage& to = points[k].stages[stage];
    const Shares shares = shares_of(to.time - from.time, to.busy - from.busy);
    double top = 0;
    tops[0].push_back(0);
    for (std::size_t i = 0; i < kSlotParts; ++i) tops.at(i + 1).push_back(top += shares.at(i));
  }
  std::string inside;
  for (std::size_t i = 0; i < kSlotParts; ++i)
    inside += area(name_of(static_cast<SlotPart>(i)), x, tops.at(i), tops.at(i + 1));
  return chart(report.stages[stage].name + ", shares of slot time", inside, report);
}

std::string link_chart(const RunReport& report, std::size_t link) {
  const std::vector<Sample> points = points_of(report);
  if (points.size() < 3) return "";
  std::vector<double> values;
  for (std::size_t k = 1; k < points.size(); ++k) values.push_back(static_cast<double>(points[k].link_chunks[link]));
  const LinkReport& one = report.links[link];
  const double most =
      std::max(static_cast<double>(one.capacity_chunks), *std::max_element(values.begin(), values.end()));
  return single_chart(report, "io", points, values, most,
                      fmt::format("{} -> {}, chunks waiting; the top is {:.0f}", one.from, one.to, most));
}

std::string rate_chart(const RunReport& report) {
  const std::vector<Sample> points = points_of(report);
  if (points.size() < 3) return "";
  const bool counts_bytes = delivered(report).counts_bytes();
  std::vector<double> values;
  for (std::size_t k = 1; k < points.size(); ++k) {
    const Delivered from = delivered(report, points[k - 1]);
    const Delivered to = delivered(report, points[k]);
    const double units = counts_bytes ? static_cast<double>(to.bytes) - static_cast<double>(from.bytes)
                                      : static_cast<double>(to.chunks) - static_cast<double>(from.chunks);
    values.push_back(std::max(0.0, units) * 1e9 / static_cast<double>(points[k].at_ns - points[k - 1].at_ns));
  }
  const double most = *std::max_element(values.begin(), values.end());
  return single_chart(report, "cpu", points, values, most,
                      "rate of the sources; the top is " + format_rate(most, counts_bytes));
}

std::string memory_chart(const RunReport& report) {
  std::vector<Sample> points = points_of(report);
  // The ends that complete_samples() adds were not measured.
  std::erase_if(points, [](const Sample& sample) { return sample.resident_bytes == 0; });
  if (points.size() < 3) return "";
  std::vector<double> values;
  for (std::size_t k = 1; k < points.size(); ++k) values.push_back(static_cast<double>(points[k].resident_bytes));
  const double most = *std::max_element(values.begin(), values.end());
  return single_chart(report, "other", points, values, most,
                      "memory of the process; the top is " + format_bytes(static_cast<std::uint64_t>(most)));
}

std::string state_legend() {
  std::string out = "<p class=\"dim\">";
  for (std::size_t i = 0; i < kSlotParts; ++i) {
    const char* const name = name_of(static_cast<SlotPart>(i));
    out += fmt::format("<span class=\"key {}\"></span>{}", name, name);
  }
  return out +
         "<br>The first four are busy, in the stage's own code: computing, waiting for a device, waiting for a core, "
         "asleep. starved: no input. blocked: no room downstream. ready: no worker was free.</p>\n";
}

}  // namespace millrace::html
