#include "pipeline/phases.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "pipeline/throughput.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

/// Fewer intervals than this in the steady part: too coarse to cut.
constexpr std::size_t kMinSteadyIntervals = 5;
/// A steady part shorter than this share of the run does not stand for the run.
constexpr double kMinSteadyShare = 0.25;
/// Waiting for the links to fill ends here at the latest; a link may fill for ever.
constexpr double kMaxWarmUpShare = 0.25;
/// The links count as filled at this part of their median fill.
constexpr double kFilledShare = 0.8;
/// Windows that the steady part is judged in to see drift, and the intervals that one needs.
constexpr std::size_t kMaxWindows = 24;
constexpr std::size_t kMinWindowIntervals = 4;
/// A change of verdict counts when it lasts this many windows ...
constexpr std::size_t kSustainedWindows = 3;
/// ... and moves the share of time that either stage is in its calls or waits by this much.
constexpr double kDriftShare = 0.10;

/// A stretch of samples, both ends included.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  Verdict verdict;
};

std::span<const Sample> part(const std::vector<Sample>& samples, std::size_t first, std::size_t last) {
  return std::span(samples).subspan(first, last - first + 1);
}

std::uint64_t chunks_of(const Sample::PerStage& stage) { return std::max(stage.chunks_in, stage.chunks_out); }

/// Every stage that ever gets a chunk has had one.
bool has_reached_all(const Sample& sample, const Sample& end) {
  for (std::size_t i = 0; i < sample.stages.size(); ++i)
    if (chunks_of(sample.stages[i]) == 0 && chunks_of(end.stages[i]) > 0) return false;
  return true;
}

std::uint64_t in_links(const Sample& sample) {
  return std::accumulate(sample.link_chunks.begin(), sample.link_chunks.end(), std::uint64_t{0});
}

std::uint64_t median_fill(const std::vector<Sample>& samples) {
  std::vector<std::uint64_t> fill;
  fill.reserve(samples.size());
  for (const auto& sample : samples) fill.push_back(in_links(sample));
  const auto middle = fill.begin() + static_cast<std::ptrdiff_t>(fill.size() / 2);
  std::nth_element(fill.begin(), middle, fill.end());
  return *middle;
}

std::size_t end_of_warm_up(const std::vector<Sample>& samples) {
  std::size_t reached = 0;
  while (reached + 1 < samples.size() && !has_reached_all(samples[reached], samples.back())) ++reached;
  const auto wanted = kFilledShare * static_cast<double>(median_fill(samples));
  const auto latest = static_cast<std::int64_t>(kMaxWarmUpShare * static_cast<double>(samples.back().at_ns));
  for (std::size_t i = reached; i < samples.size() && samples[i].at_ns <= latest; ++i)
    if (static_cast<double>(in_links(samples[i])) >= wanted) return i;
  return reached;
}

/// The last sample at which a source still had something to give.
std::size_t begin_of_drain(const RunReport& report, const std::vector<Sample>& samples) {
  const auto all_done = [&](const Sample& sample) {
    for (std::size_t i = 0; i < report.stages.size(); ++i)
      if (report.stages[i].role == Role::source && sample.stages[i].time.done_ns == 0) return false;
    return true;
  };
  for (std::size_t i = 1; i < samples.size(); ++i)
    if (all_done(samples[i])) return i - 1;
  return samples.size() - 1;
}

std::vector<Stretch> windows_of(const RunReport& report, const std::vector<Sample>& samples, std::size_t first,
                                std::size_t last) {
  const std::size_t intervals = last - first;
  const std::size_t count = std::clamp<std::size_t>(intervals / kMinWindowIntervals, 1, kMaxWindows);
  std::vector<Stretch> windows;
  for (std::size_t i = 0; i < count; ++i) {
    Stretch window{first + intervals * i / count, first + intervals * (i + 1) / count, {}};
    window.verdict = judge(verdict_input(report, part(samples, window.first, window.last)));
    windows.push_back(std::move(window));
  }
  return windows;
}

/// Joins neighbours of one verdict; what does not last becomes part of what was before it.
std::vector<Stretch> runs_of(const std::vector<Stretch>& windows) {
  struct Run {
    Stretch stretch;
    std::size_t windows = 0;
  };
  std::vector<Run> runs;
  for (const auto& window : windows) {
    if (!runs.empty() && verdict_key(runs.back().stretch.verdict) == verdict_key(window.verdict)) {
      runs.back().stretch.last = window.last;
      ++runs.back().windows;
    } else {
      runs.push_back({window, 1});
    }
  }
  std::vector<Stretch> lasting;
  std::size_t start = windows.front().first;
  for (const auto& run : runs) {
    const bool lasts = run.windows >= kSustainedWindows && run.stretch.verdict.kind != "none";
    if (lasts && (lasting.empty() || verdict_key(lasting.back().verdict) != verdict_key(run.stretch.verdict))) {
      lasting.push_back(run.stretch);
      lasting.back().first = lasting.size() == 1 ? start : run.stretch.first;
    }
    if (!lasting.empty()) lasting.back().last = run.stretch.last;
  }
  for (std::size_t i = 1; i < lasting.size(); ++i) lasting[i - 1].last = lasting[i].first;
  return lasting;
}

bool differ(const RunReport& report, const std::vector<Sample>& samples, const Stretch& a, const Stretch& b) {
  return spent_otherwise(verdict_input(report, part(samples, a.first, a.last)),
                         verdict_input(report, part(samples, b.first, b.last)));
}

Phase phase(const char* kind, const RunReport& report, const std::vector<Sample>& samples, std::size_t first,
            std::size_t last) {
  return {kind, samples[first].at_ns, samples[last].at_ns, judge(verdict_input(report, part(samples, first, last)))};
}

/// The steady part as one phase, or as several when the bottleneck changed and stayed changed.
std::vector<Phase> steady_phases(const RunReport& report, const std::vector<Sample>& samples, std::size_t first,
                                 std::size_t last) {
  std::vector<Stretch> merged;
  for (const auto& run : runs_of(windows_of(report, samples, first, last))) {
    if (!merged.empty() && !differ(report, samples, merged.back(), run))
      merged.back().last = run.last;
    else
      merged.push_back(run);
  }
  std::vector<Phase> phases;
  std::size_t start = 0;
  for (const auto& stretch : merged) {
    Phase next = phase("steady", report, samples, stretch.first, stretch.last);
    if (!phases.empty() && verdict_key(phases.back().verdict) == verdict_key(next.verdict)) {
      phases.back() = phase("steady", report, samples, start, stretch.last);
      continue;
    }
    phases.push_back(std::move(next));
    start = stretch.first;
  }
  return phases;
}

}  // namespace

std::vector<Phase> find_phases(const RunReport& report) {
  const std::vector<Sample> samples = complete_samples(report);
  const auto whole_run = [&] {
    return std::vector<Phase>{{"steady", 0, report.wall_ns, judge(verdict_input(report))}};
  };
  if (samples.size() < 2 + kMinSteadyIntervals) return whole_run();
  const std::size_t filled = end_of_warm_up(samples);
  const std::size_t drained = begin_of_drain(report, samples);
  if (drained < filled + kMinSteadyIntervals) return whole_run();
  const auto steady_ns = static_cast<double>(samples[drained].at_ns - samples[filled].at_ns);
  if (steady_ns < kMinSteadyShare * static_cast<double>(report.wall_ns)) return whole_run();

  std::vector<Phase> phases;
  if (filled > 0) {
    // The interval in which the flow begins belongs to both phases; it would show the end of the waiting as a burst.
    phases.push_back(phase("warm_up", report, samples, 0, std::max<std::size_t>(1, filled - 1)));
    phases.back().end_ns = samples[filled].at_ns;
  }
  auto steady = steady_phases(report, samples, filled, drained);
  if (steady.empty()) steady.push_back(phase("steady", report, samples, filled, drained));
  phases.insert(phases.end(), steady.begin(), steady.end());
  if (drained + 1 < samples.size()) phases.push_back(phase("drain", report, samples, drained, samples.size() - 1));
  return phases;
}

bool spent_otherwise(const VerdictInput& a, const VerdictInput& b) {
  const auto moved = [&](std::size_t i, std::int64_t StateTimes::*state) {
    const double slots = a.stages[i].slots;
    const double before = static_cast<double>(a.stages[i].time.*state) / (slots * static_cast<double>(a.wall_ns));
    const double after = static_cast<double>(b.stages[i].time.*state) / (slots * static_cast<double>(b.wall_ns));
    return std::max(before, after) - std::min(before, after) >= kDriftShare;
  };
  for (std::size_t i = 0; i < std::min(a.stages.size(), b.stages.size()); ++i)
    if (moved(i, &StateTimes::busy_ns) || moved(i, &StateTimes::starved_ns) || moved(i, &StateTimes::blocked_ns))
      return true;
  return false;
}

std::vector<RunWindow> run_windows(const RunReport& report, std::size_t most) {
  const std::vector<Sample> samples = complete_samples(report);
  std::vector<RunWindow> windows;
  if (samples.size() < 2 || most == 0) return windows;
  const std::size_t intervals = samples.size() - 1;
  const std::size_t count = std::clamp<std::size_t>(intervals / kMinWindowIntervals, 1, most);
  const bool counts_bytes = delivered(report).counts_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = intervals * i / count;
    const std::size_t last = intervals * (i + 1) / count;
    const Delivered from = delivered(report, samples[first]);
    const Delivered to = delivered(report, samples[last]);
    const auto units = [&](const Delivered& sum) { return static_cast<double>(counts_bytes ? sum.bytes : sum.chunks); };
    const auto ns = static_cast<double>(samples[last].at_ns - samples[first].at_ns);
    windows.push_back({samples[first].at_ns, samples[last].at_ns, std::max(0.0, units(to) - units(from)) * 1e9 / ns,
                       samples[last].resident_bytes, judge(verdict_input(report, part(samples, first, last)))});
  }
  return windows;
}

const Phase& main_phase(const std::vector<Phase>& phases) {
  const Phase* best = &phases.front();
  const auto rank = [](const Phase& phase) { return std::pair(phase.kind == "steady", phase.end_ns - phase.start_ns); };
  for (const auto& phase : phases)
    if (rank(phase) > rank(*best)) best = &phase;
  return *best;
}

}  // namespace millrace
