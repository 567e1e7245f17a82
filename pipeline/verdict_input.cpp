#include <algorithm>
#include <cmath>
#include <map>

#include "pipeline/verdict.h"

namespace millrace {
namespace {

/// `split` in the proportion it has, but with the sum `busy_ns`; all zero when it has none.
BusySplit scaled(const BusySplit& split, std::int64_t busy_ns) {
  const std::int64_t sum = split.sum_ns();
  if (sum <= 0 || busy_ns <= 0) return {};
  const auto part = [&](std::int64_t ns) {
    const double share = static_cast<double>(std::max<std::int64_t>(ns, 0)) / static_cast<double>(sum);
    return std::llround(share * static_cast<double>(busy_ns));
  };
  BusySplit result{part(split.on_cpu_ns), part(split.io_wait_ns), part(split.run_delay_ns), part(split.other_wait_ns)};
  std::int64_t* largest = &result.on_cpu_ns;
  for (std::int64_t* ns : {&result.io_wait_ns, &result.run_delay_ns, &result.other_wait_ns})
    if (*ns > *largest) largest = ns;
  *largest += busy_ns - result.sum_ns();
  return result;
}

/// What other processes computed in a stretch is only known of the whole run: the part that the stage's busy time has.
std::int64_t child_cpu_within(std::int64_t busy_ns, const StageReport& stage) {
  if (stage.child_cpu_ns <= 0 || stage.time.busy_ns <= 0) return 0;
  const double share = std::min(1.0, static_cast<double>(busy_ns) / static_cast<double>(stage.time.busy_ns));
  return std::llround(share * static_cast<double>(stage.child_cpu_ns));
}

StateTimes not_negative(StateTimes time) {
  for (std::int64_t* ns : {&time.busy_ns, &time.starved_ns, &time.blocked_ns, &time.ready_ns, &time.done_ns})
    *ns = std::max<std::int64_t>(*ns, 0);
  return time;
}

std::uint64_t increase(std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; }

VerdictInput shape(const RunReport& report) {
  VerdictInput input;
  input.threads = std::max(1U, report.threads);
  input.cores = report.environment.cpus > 0 ? report.environment.cpus : input.threads;
  for (const auto& stage : report.stages) {
    VerdictInput::PerStage& out = input.stages.emplace_back();
    out.name = stage.name;
    out.role = stage.role;
    out.slots = std::max(1U, stage.slots);
    out.own_threads = stage.own_threads;
    out.call = stage.call;
    if (stage.call.count > 0)
      out.mean_call_ns =
          static_cast<double>(stage.time.busy_ns - stage.busy.run_delay_ns) / static_cast<double>(stage.call.count);
    out.cpu_sampled_every = std::max(1U, stage.cpu_sampled_every);
    out.writes = stage.role == Role::sink || (stage.role == Role::transform && stage.io && stage.io->fsync_calls > 0);
  }
  return input;
}

/// Appends the links; `mean_chunks` of a link comes from `mean`.
template <typename Mean>
void add_links(VerdictInput& input, const RunReport& report, Mean mean) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < report.stages.size(); ++i) index.emplace(report.stages[i].name, i);
  std::map<std::string, double> starved;
  std::map<std::string, double> blocked;
  for (const auto& link : report.links) {
    starved[link.to] += static_cast<double>(link.starved_ns);
    blocked[link.from] += static_cast<double>(link.blocked_ns);
  }
  const auto share = [](std::int64_t part, double sum) { return sum > 0 ? static_cast<double>(part) / sum : 1.0; };
  for (std::size_t i = 0; i < report.links.size(); ++i) {
    const auto& link = report.links[i];
    const auto from = index.find(link.from);
    const auto to = index.find(link.to);
    if (from == index.end() || to == index.end()) continue;
    VerdictInput::PerLink& out = input.links.emplace_back();
    out.from = from->second;
    out.to = to->second;
    out.capacity_chunks = link.capacity_chunks;
    out.mean_chunks = mean(i);
    out.share_of_starved = share(link.starved_ns, starved[link.to]);
    out.share_of_blocked = share(link.blocked_ns, blocked[link.from]);
    out.dropped_chunks = link.dropped_chunks;
  }
}

bool fits(const RunReport& report, const Sample& sample) {
  return sample.stages.size() == report.stages.size() && sample.link_chunks.size() == report.links.size();
}

Sample final_sample(const RunReport& report) {
  Sample sample;
  sample.at_ns = report.wall_ns;
  for (const auto& stage : report.stages)
    sample.stages.push_back(
        {stage.time, stage.busy, stage.chunks_in, stage.chunks_out, stage.bytes_in, stage.bytes_out});
  sample.link_chunks.assign(report.links.size(), 0);
  return sample;
}

}  // namespace

std::vector<Sample> complete_samples(const RunReport& report) {
  std::vector<Sample> samples;
  Sample& first = samples.emplace_back();
  first.stages.resize(report.stages.size());
  first.link_chunks.assign(report.links.size(), 0);
  for (const auto& sample : report.samples)
    if (fits(report, sample) && sample.at_ns > samples.back().at_ns && sample.at_ns < report.wall_ns)
      samples.push_back(sample);
  if (report.wall_ns > samples.back().at_ns) samples.push_back(final_sample(report));
  return samples;
}

VerdictInput verdict_input(const RunReport& report) {
  VerdictInput input = shape(report);
  input.wall_ns = report.wall_ns;
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const auto& stage = report.stages[i];
    input.stages[i].time = not_negative(stage.time);
    input.stages[i].busy = scaled(stage.busy, input.stages[i].time.busy_ns);
    input.stages[i].child_cpu_ns = std::max<std::int64_t>(stage.child_cpu_ns, 0);
    input.stages[i].chunks = std::max(stage.chunks_in, stage.chunks_out);
  }
  add_links(input, report, [&](std::size_t i) { return report.links[i].mean_chunks; });
  return input;
}

VerdictInput verdict_input(const RunReport& report, std::span<const Sample> window) {
  VerdictInput input = shape(report);
  if (window.size() < 2 || !fits(report, window.front()) || !fits(report, window.back())) return input;
  const Sample& from = window.front();
  const Sample& to = window.back();
  input.wall_ns = to.at_ns - from.at_ns;
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    VerdictInput::PerStage& out = input.stages[i];
    out.time = not_negative(to.stages[i].time - from.stages[i].time);
    const BusySplit ended = to.stages[i].busy - from.stages[i].busy;
    out.busy = scaled(ended.sum_ns() > 0 ? ended : report.stages[i].busy, out.time.busy_ns);
    out.child_cpu_ns = child_cpu_within(out.time.busy_ns, report.stages[i]);
    out.chunks = std::max(increase(from.stages[i].chunks_in, to.stages[i].chunks_in),
                          increase(from.stages[i].chunks_out, to.stages[i].chunks_out));
  }
  add_links(input, report, [&](std::size_t i) {
    if (window.size() < 3) return -1.0;
    double sum = 0;
    for (const auto& sample : window.subspan(1, window.size() - 2)) sum += static_cast<double>(sample.link_chunks[i]);
    return sum / static_cast<double>(window.size() - 2);
  });
  return input;
}

}  // namespace millrace
