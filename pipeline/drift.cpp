#include "pipeline/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "pipeline/core/units.h"
#include "pipeline/phases.h"
#include "pipeline/throughput.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
/// A step is found in the first, a slide over hours or days in the others: each sees 64 times its length.
constexpr std::array<std::int64_t, 4> kWindowsNs{10 * kSecondNs, 60 * kSecondNs, 600 * kSecondNs, 3600 * kSecondNs};
constexpr std::size_t kMoveScale = 1;
constexpr std::size_t kMaxWindows = 64;
/// Caches and clocks settle, links fill.
constexpr std::int64_t kStartNs = 10 * kSecondNs;

/// What a run loses by less than this is within what other users of a machine cost it.
constexpr double kDrop = 0.20;
/// Back at this part of the earlier rate, a drop is over.
constexpr double kRecovered = 0.90;
/// Windows that must be there before a drop, and that it must last: the scatter of fewer is not known.
constexpr std::size_t kMinBefore = 12;
constexpr std::size_t kMinAfter = 6;
/// Two means differ when they are this many standard errors apart. Where to cut is chosen by the data, and thousands of
/// looks are taken at one run: each of these asks for more than the 2 or 3 of a single test.
constexpr double kSureT = 7;
/// Below this length neighbouring windows resemble each other (bursts, caches, other users of a disk), and are worth
/// fewer than they are. Of longer ones only the run itself makes neighbours alike: that is the slide that is looked
/// for.
constexpr std::int64_t kAlikeBelowNs = 600 * kSecondNs;
/// Correlations above this are not believed: nothing would be left of any number of windows.
constexpr double kMostAlike = 0.95;
/// A run without any scatter would be sure of anything.
constexpr double kLeastScatter = 0.01;

/// Windows of a minute that another bottleneck must last; doubled with each move that was told.
constexpr std::size_t kMoveWindows = 3;
constexpr std::size_t kMostDoublings = 8;
constexpr std::size_t kMostTold = 100;

/// Memory that grows by less is what allocators keep.
constexpr double kGrowth = 0.20;
constexpr std::uint64_t kGrowthBytes = 64ULL << 20;
/// Of the growth, each half of the time must have this part: a step is no leak.
constexpr double kGrowthOfAHalf = 0.25;
constexpr std::int64_t kShortestGrowthNs = 60 * kSecondNs;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The scatter of two parts about their own means.
struct Scatter {
  double variance = 0;
  double correlation = 0;  ///< of neighbours, at its upper end: that of few windows is not known well
};

Scatter scatter_of(std::span<const double> before, std::span<const double> after, double mean_before,
                   double mean_after) {
  double squares = 0;
  double neighbours = 0;
  for (const auto& [part, center] : {std::pair(before, mean_before), std::pair(after, mean_after)}) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      squares += (part[i] - center) * (part[i] - center);
      if (i > 0) neighbours += (part[i] - center) * (part[i - 1] - center);
    }
  }
  const auto windows = static_cast<double>(before.size() + after.size());
  Scatter scatter;
  scatter.variance = squares / (windows - 2);
  if (squares > 0) scatter.correlation = std::clamp(neighbours / squares + 1 / std::sqrt(windows), 0.0, kMostAlike);
  return scatter;
}

/// Student's t of two parts with one variance; with `alike`, for as many independent windows as the correlation of
/// neighbours leaves (those of a process that forgets exponentially).
double t_of(std::span<const double> before, std::span<const double> after, bool alike) {
  const double mean_before = mean(before);
  const double mean_after = mean(after);
  const Scatter scatter = scatter_of(before, after, mean_before, mean_after);
  const double least = kLeastScatter * std::max(mean_before, mean_after);
  if (scatter.variance <= 0 && least <= 0) return 0;
  const double worth =
      alike && scatter.variance > least * least ? (1 - scatter.correlation) / (1 + scatter.correlation) : 1;
  const double error = std::max(std::sqrt(scatter.variance), least) *
                       std::sqrt(1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size()));
  return std::abs(mean_before - mean_after) / error * std::sqrt(worth);
}

/// Where rates change from one level to another, most clearly; nothing when that is not clear, or lasts too short a
/// time.
std::optional<std::size_t> clear_cut(std::span<const double> rates, std::size_t min_before, bool alike) {
  if (rates.size() < min_before + kMinAfter) return {};
  std::size_t best = 0;
  double best_t = 0;
  for (std::size_t cut = min_before; cut < rates.size(); ++cut) {
    const double t = t_of(rates.first(cut), rates.subspan(cut), alike);
    if (t > best_t) {
      best = cut;
      best_t = t;
    }
  }
  if (best_t < kSureT || best + kMinAfter > rates.size()) return {};
  return best;
}

}  // namespace

DriftDetector::DriftDetector(RunReport shape) : shape_(std::move(shape)) { restart(); }

void DriftDetector::restart() {
  scales_.clear();
  for (const std::int64_t window_ns : kWindowsNs) scales_.push_back({window_ns, {}, 0});
  levels_.clear();
  bottleneck_ = {};
  flowing_since_ns_.reset();
}

/// Also keeps account of where the flow begins and ends.
bool DriftDetector::is_steady(const Sample& sample) {
  std::size_t sources = 0;
  std::size_t done = 0;
  bool arrived = false;
  for (std::size_t i = 0; i < shape_.stages.size(); ++i) {
    if (shape_.stages[i].role == Role::source) {
      ++sources;
      if (sample.stages[i].time.done_ns > 0) ++done;
    }
    arrived = arrived || (shape_.stages[i].role == Role::sink && sample.stages[i].chunks_in > 0);
  }
  if (done != sources_done_) restart();
  sources_done_ = done;
  if (!arrived || done == sources) return false;
  if (!flowing_since_ns_) flowing_since_ns_ = sample.at_ns;
  return sample.at_ns >= *flowing_since_ns_ + kStartNs;
}

bool DriftDetector::push(Scale& scale, const Sample& sample) {
  if (!scale.marks.empty() && sample.at_ns < scale.marks.back().at_ns + scale.window_ns) return false;
  scale.marks.push_back(sample);
  if (scale.marks.size() > kMaxWindows + 1) {
    scale.marks.erase(scale.marks.begin());
    if (scale.regime > 0) --scale.regime;
  }
  return true;
}

std::vector<double> DriftDetector::rates(const Scale& scale, std::size_t first) const {
  std::vector<double> result;
  const bool counts_bytes = delivered(shape_, scale.marks.back()).counts_bytes();
  const auto units = [&](const Sample& sample) {
    const Delivered sum = delivered(shape_, sample);
    return static_cast<double>(counts_bytes ? sum.bytes : sum.chunks);
  };
  for (std::size_t i = first + 1; i < scale.marks.size(); ++i) {
    const auto ns = static_cast<double>(scale.marks[i].at_ns - scale.marks[i - 1].at_ns);
    result.push_back((units(scale.marks[i]) - units(scale.marks[i - 1])) * 1e9 / ns);
  }
  return result;
}

std::optional<DriftReport> DriftDetector::add(const Sample& sample) {
  if (sample.stages.size() != shape_.stages.size() || sample.link_chunks.size() != shape_.links.size()) return {};
  if (told_ >= kMostTold || !is_steady(sample)) return {};
  std::optional<DriftReport> found;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    Scale& scale = scales_[i];
    if (!push(scale, sample) || scale.marks.size() < 2 || found) continue;
    found = look_for_drop(scale);
    if (!found && !levels_.empty()) found = look_for_recovery(scale);
    if (!found && i == kMoveScale) found = look_for_move(scale);
  }
  if (found) ++told_;
  return found;
}

/// The rate of the last minute and of the last ten seconds, where there are samples that often: what is over by now is
/// no news.
DriftDetector::Now DriftDetector::now() const {
  const Scale& finest = scales_.front();
  const std::size_t first = finest.marks.size() - 1 - std::min(finest.marks.size() - 1, kMinAfter);
  const std::vector<double> last = rates(finest, first);
  return {mean(last), last.back()};
}

std::optional<DriftReport> DriftDetector::look_for_drop(Scale& scale) {
  const std::vector<double> all = rates(scale, scale.regime);
  const auto cut = clear_cut(all, kMinBefore, scale.window_ns < kAlikeBelowNs);
  if (!cut) return {};
  const double before = mean(std::span(all).first(*cut));
  const double after = mean(std::span(all).subspan(*cut));
  const Now last = now();
  if (after > (1 - kDrop) * before || last.minute > (1 - kDrop) * before || last.window > (before + after) / 2)
    return {};
  const Sample at = scale.marks[scale.regime + *cut];
  DriftReport result = drift("slower", scale.marks[scale.regime], at, scale.marks.back());
  levels_.push_back(result.before_rate);
  begin_regime(at.at_ns);
  settle(result, at);
  return result;
}

std::optional<DriftReport> DriftDetector::look_for_recovery(Scale& scale) {
  const double least = *std::min_element(levels_.begin(), levels_.end()) * kRecovered;
  const std::vector<double> all = rates(scale, scale.regime);
  const auto cut = clear_cut(all, kMinAfter, scale.window_ns < kAlikeBelowNs);
  if (!cut) return {};
  const double before = mean(std::span(all).first(*cut));
  const double after = mean(std::span(all).subspan(*cut));
  const Now last = now();
  if (after <= before || after < least || last.minute < least || last.window < (before + after) / 2) return {};
  const Sample at = scale.marks[scale.regime + *cut];
  DriftReport result = drift("recovered", scale.marks[scale.regime], at, scale.marks.back());
  std::erase_if(levels_, [&](double level) { return level * kRecovered <= result.after_rate; });
  // With all drops over, what came before them says again what is usual here: a run that slows down and recovers in
  // turn is told so once.
  begin_regime(levels_.empty() ? 0 : at.at_ns);
  settle(result, at);
  return result;
}

void DriftDetector::begin_regime(std::int64_t at_ns) {
  for (auto& scale : scales_) {
    const auto first =
        std::find_if(scale.marks.begin(), scale.marks.end(), [&](const Sample& mark) { return mark.at_ns >= at_ns; });
    scale.regime = static_cast<std::size_t>(first - scale.marks.begin());
    if (scale.regime == scale.marks.size() && scale.regime > 0) --scale.regime;
  }
}

void DriftDetector::settle(const DriftReport& drift, const Sample& at) {
  bottleneck_ = {};
  if (drift.after == "none") return;
  bottleneck_.settled = drift.after;
  bottleneck_.settled_from = at;
}

std::optional<DriftReport> DriftDetector::look_for_move(const Scale& scale) {
  const std::array<Sample, 2> window{scale.marks[scale.marks.size() - 2], scale.marks.back()};
  const std::string key = verdict_key(judge(verdict_input(shape_, window)));
  Bottleneck& now = bottleneck_;
  if (key == "none" || key == now.settled) {
    now.candidate_windows = 0;
    return {};
  }
  if (now.candidate_windows == 0 || key != now.candidate) {
    now.candidate = key;
    now.candidate_windows = 0;
    now.candidate_from = window[0];
  }
  const std::size_t needed = kMoveWindows << std::min(moves_, kMostDoublings);
  if (++now.candidate_windows < (now.settled.empty() ? kMoveWindows : needed)) return {};
  const Sample at = *now.candidate_from;
  if (now.settled.empty()) {
    now = {key, "", 0, at, {}};
    return {};
  }
  const Sample from = *now.settled_from;
  const std::array<Sample, 2> before{from, at};
  const std::array<Sample, 2> after{at, window[1]};
  if (from.at_ns >= at.at_ns || !spent_otherwise(verdict_input(shape_, before), verdict_input(shape_, after)))
    return {};
  DriftReport result = drift("moved", from, at, window[1]);
  // With a drop in it there will be more to tell, unless the rates scatter too much.
  if (result.after_rate <= (1 - kDrop) * result.before_rate && now.candidate_windows < 2 * kMinAfter) return {};
  ++moves_;
  result.after = key;
  settle(result, at);
  return result;
}

DriftReport DriftDetector::drift(const char* kind, const Sample& from, const Sample& at, const Sample& to) const {
  const bool counts_bytes = delivered(shape_, to).counts_bytes();
  const auto rate = [&](const Sample& a, const Sample& b) {
    const Delivered first = delivered(shape_, a);
    const Delivered last = delivered(shape_, b);
    const auto units = static_cast<double>(counts_bytes ? last.bytes - first.bytes : last.chunks - first.chunks);
    return b.at_ns > a.at_ns ? units * 1e9 / static_cast<double>(b.at_ns - a.at_ns) : 0;
  };
  const auto verdict = [&](const Sample& a, const Sample& b) {
    const std::array<Sample, 2> stretch{a, b};
    return verdict_key(judge(verdict_input(shape_, stretch)));
  };
  return {kind,           at.at_ns, rate(from, at), rate(at, to), counts_bytes ? "bytes" : "chunks", verdict(from, at),
          verdict(at, to)};
}

std::string memory_growth_text(const RunReport& report) {
  if (report.wall_ns < kShortestGrowthNs) return "";
  std::vector<const Sample*> samples;
  for (const auto& sample : report.samples)
    if (sample.resident_bytes > 0 && sample.at_ns >= report.wall_ns / 10 && sample.at_ns <= report.wall_ns)
      samples.push_back(&sample);
  if (samples.size() < 3) return "";
  const Sample& first = *samples.front();
  const Sample& last = *samples.back();
  const auto of = [](const Sample& sample) { return static_cast<double>(sample.resident_bytes); };
  const double growth = of(last) - of(first);
  if (growth < static_cast<double>(kGrowthBytes) || growth < kGrowth * of(first)) return "";
  const std::int64_t half_ns = first.at_ns + (last.at_ns - first.at_ns) / 2;
  const auto middle =
      std::find_if(samples.begin(), samples.end(), [&](const auto* one) { return one->at_ns >= half_ns; });
  const double first_half = of(**middle) - of(first);
  if (std::min(first_half, growth - first_half) < kGrowthOfAHalf * growth) return "";
  const double hours = static_cast<double>(last.at_ns - first.at_ns) / 3600e9;
  return fmt::format("memory grew from {} at {} to {} at {}, {} an hour", format_bytes(first.resident_bytes),
                     format_run_time(first.at_ns), format_bytes(last.resident_bytes), format_run_time(last.at_ns),
                     format_bytes(static_cast<std::uint64_t>(std::min(growth / hours, 9e18))));
}

std::string format_run_time(std::int64_t ns) {
  const std::int64_t seconds = std::max<std::int64_t>(0, ns) / kSecondNs;
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string drift_text(const DriftReport& drift) {
  const bool counts_bytes = drift.unit != "chunks";
  const std::string rates = fmt::format("{}, was {}", format_rate(drift.after_rate, counts_bytes),
                                        format_rate(drift.before_rate, counts_bytes));
  std::string what;
  if (drift.kind == "slower")
    what = fmt::format("the run is {:.0f} % slower ({})",
                       drift.before_rate > 0 ? 100 * (1 - drift.after_rate / drift.before_rate) : 0, rates);
  else if (drift.kind == "recovered")
    what = fmt::format("the run is as fast as before again ({})", rates);
  else
    what = fmt::format("another stage sets the pace ({})", rates);
  const std::string verdicts = drift.before == drift.after
                                   ? "still " + verdict_title(drift.after)
                                   : verdict_title(drift.after) + ", was " + verdict_title(drift.before);
  return fmt::format("since {} {}: {}", format_run_time(drift.at_ns), what, verdicts);
}

}  // namespace millrace
