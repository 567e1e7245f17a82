#include "pipeline/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "pipeline/core/units.h"
#include "pipeline/verdict_analysis.h"
#include "pipeline/verdict_doubts.h"
#include "pipeline/verdict_thresholds.h"
#include "pipeline/verdict_words.h"

namespace millrace {
namespace {

using verdict::Analysis;
using verdict::Doubts;
using verdict::percent;

void set_ceiling(Verdict& verdict, const verdict::Ceiling& ceiling) {
  verdict.ceiling = ceiling.speed_up;
  verdict.second = ceiling.next;
}

void finish(Verdict& verdict, const Doubts& doubts, const std::string& rule) {
  verdict.confidence = doubts.confidence();
  verdict.rule = rule + "; confidence: " + verdict.confidence;
  const auto& reasons = doubts.reasons();
  for (std::size_t i = 0; i < reasons.size(); ++i)
    verdict.rule += (i == 0 ? " (" : ", ") + reasons[i] + (i + 1 == reasons.size() ? ")" : "");
}

bool is_pacing(const Analysis& analysis, std::size_t index) {
  const auto& shares = analysis.stages[index];
  return shares.want >= verdict::kPacingShare && shares.busy >= verdict::kPacingBusyShare;
}

double next_net(const Analysis& analysis) { return analysis.second ? analysis.stages[*analysis.second].net : 0; }

/// No stage paces the run, but one comes well before all others.
bool is_leading(const Analysis& analysis, std::size_t index) {
  const auto& shares = analysis.stages[index];
  if (analysis.contended)
    return shares.want >= verdict::kContendedWant &&
           shares.net * verdict::kContendedBalancedRatio >= next_net(analysis);
  if (shares.busy >= verdict::kPacingBusyShare) return true;
  return shares.busy >= verdict::kLeadingBusyShare && shares.net >= verdict::kLeadingRatio * next_net(analysis);
}

double largest_held(const Analysis& analysis, double verdict::StageShares::*share) {
  double largest = 0;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i)
    if (analysis.held[i]) largest = std::max(largest, analysis.stages[i].*share);
  return largest;
}

std::vector<std::size_t> balanced_stages(const Analysis& analysis) {
  std::vector<std::size_t> result;
  if (largest_held(analysis, &verdict::StageShares::want) < verdict::kBalancedShare ||
      largest_held(analysis, &verdict::StageShares::busy) < verdict::kPacingBusyShare)
    return result;
  const double net = largest_held(analysis, &verdict::StageShares::net);
  const double ratio = analysis.contended ? verdict::kContendedBalancedRatio : verdict::kBalancedRatio;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i)
    if (analysis.held[i] && analysis.stages[i].net >= ratio * net) result.push_back(i);
  return result;
}

/// The workers have no time left while chunks wait for one; or all threads together want more cores than there are.
bool pool_is_full(const Analysis& analysis) {
  if (analysis.pool_load < verdict::kPoolFullShare) return false;
  if (analysis.ready_per_worker < verdict::kReadyPerWorker) return false;
  return analysis.pool_need >= verdict::kPoolOverStage * largest_held(analysis, &verdict::StageShares::net);
}

/// The workers are all inside calls, but mostly asleep there: the transform that sleeps longest, if so.
std::optional<std::size_t> sleeping_on_the_workers(const Analysis& analysis) {
  if (analysis.pool_busy < verdict::kPoolFullShare || analysis.ready_per_worker < verdict::kReadyPerWorker) return {};
  std::optional<std::size_t> result;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i) {
    const auto& stage = analysis.stage(i);
    const std::int64_t asleep = stage.busy.io_wait_ns + stage.busy.other_wait_ns;
    if (!stage.uses_workers() || asleep <= longest || asleep * 2 < stage.time.busy_ns) continue;
    longest = asleep;
    result = i;
  }
  return result;
}

bool machine_is_crowded(const Analysis& analysis) {
  const double cores = analysis.input->cores;
  const double net = largest_held(analysis, &verdict::StageShares::net);
  return analysis.cores_wanted >= verdict::kCrowdedWant * cores &&
         analysis.cores_used >= verdict::kCrowdedOwnShare * cores && analysis.wanting_stages >= 2 &&
         analysis.largest_want <= verdict::kCrowdedOneStage * analysis.cores_wanted && net < verdict::kCrowdedBusyShare;
}

Verdict workers_verdict(const Analysis& analysis, bool full) {
  Verdict verdict;
  verdict.kind = "workers";
  verdict.evidence = verdict::workers_evidence(analysis);
  verdict.cannot_help = verdict::cannot_help_workers(analysis);
  set_ceiling(verdict, verdict::ceiling_unhindered(analysis));
  Doubts doubts;
  doubts.add_window(analysis);
  doubts.add_count(analysis.stage(*analysis.top));
  if (analysis.largest_want > verdict::kCrowdedOneStage * analysis.cores_wanted)
    doubts.add(1, "one stage takes most of the time");
  if (full)
    finish(
        verdict, doubts,
        fmt::format("workers used up: {} of their time in calls >= {}, {:.2f} slot seconds ready per worker second >= "
                    "{:.2f}, together they need {} of the workers and the busiest stage {}",
                    percent(analysis.pool_load), percent(verdict::kPoolFullShare), analysis.ready_per_worker,
                    verdict::kReadyPerWorker, percent(analysis.pool_need),
                    percent(largest_held(analysis, &verdict::StageShares::net))));
  else
    finish(verdict, doubts,
           fmt::format("cores used up: {:.2f} wanted >= {} x {} cores, {:.2f} got, {} stages want them",
                       analysis.cores_wanted, verdict::kCrowdedWant, analysis.input->cores, analysis.cores_used,
                       analysis.wanting_stages));
  return verdict;
}

Verdict balanced_verdict(const Analysis& analysis, const std::vector<std::size_t>& stages) {
  Verdict verdict;
  verdict.kind = "balanced";
  verdict.evidence = verdict::balanced_evidence(analysis, stages);
  verdict.cannot_help = verdict::cannot_help_balanced(analysis, stages);
  set_ceiling(verdict, verdict::ceiling_without(analysis, *analysis.top));
  Doubts doubts;
  doubts.add_window(analysis);
  doubts.add_machine(analysis);
  for (const std::size_t i : stages) doubts.add_count(analysis.stage(i));
  std::string list;
  for (const std::size_t i : stages)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", analysis.name(i), percent(analysis.stages[i].net));
  finish(verdict, doubts,
         fmt::format("balanced: demand without run delay within {} of the largest: {}",
                     percent(1 - verdict::kBalancedRatio), list));
  return verdict;
}

Verdict pacing_verdict(const Analysis& analysis, std::size_t index, bool pacing) {
  const auto nature = verdict::nature_of(analysis, index);
  const auto& shares = analysis.stages[index];
  Verdict verdict;
  verdict.kind = nature.kind;
  verdict.stage = analysis.name(index);
  verdict.evidence = verdict::pacing_evidence(analysis, index, nature.kind);
  verdict.cannot_help = verdict::cannot_help_pacing(analysis, index, nature.kind);
  set_ceiling(verdict, verdict::ceiling_without(analysis, index));
  Doubts doubts;
  doubts.add_window(analysis);
  doubts.add_machine(analysis);
  doubts.add_count(analysis.stage(index));
  doubts.add_margin(analysis, index);
  doubts.add_split(analysis, index);
  finish(verdict, doubts,
         fmt::format(
             "{}: {} busy or due {} {} {}{}; its busy time: on_cpu {}, io_wait {}, other_wait {}, run_delay {} of "
             "slot time, the largest but run_delay decides",
             pacing ? "pacing stage" : "leading stage", verdict.stage, percent(shares.want), pacing ? ">=" : "<",
             percent(verdict::kPacingShare),
             analysis.second ? fmt::format(", next {} {}", analysis.name(*analysis.second),
                                           percent(analysis.stages[*analysis.second].net))
                             : "",
             percent(shares.on_cpu), percent(shares.io_wait), percent(shares.other_wait), percent(shares.run_delay)));
  return verdict;
}

/// Time that the worst link loses for every chunk that passes it.
double lost_per_chunk_ns(const Analysis& analysis, std::size_t link) {
  const auto& consumer = analysis.stage(analysis.input->links[link].to);
  return std::min(analysis.link_loss[link], 1.0) * static_cast<double>(analysis.input->wall_ns) /
         static_cast<double>(std::max<std::uint64_t>(1, consumer.chunks));
}

/// The worst link runs full and empty in turn for a good part of the run.
bool loses_at_a_link(const Analysis& analysis) {
  if (!analysis.worst_link || analysis.link_loss[*analysis.worst_link] < verdict::kLinkLossShare) return false;
  const auto& link = analysis.input->links[*analysis.worst_link];
  return static_cast<double>(analysis.stage(link.to).chunks) >=
         verdict::kLinkFillings * static_cast<double>(link.capacity_chunks);
}

/// ... and a stage with enough time to cause that has bursts in its calls.
bool loses_to_bursts(const Analysis& analysis) {
  if (!loses_at_a_link(analysis)) return false;
  const double loss = analysis.link_loss[*analysis.worst_link];
  for (std::size_t i = 0; i < analysis.stages.size(); ++i)
    if (analysis.stages[i].busy >= loss && verdict::is_bursty(analysis.stage(i))) return true;
  return false;
}

/// ... and more per chunk than any hand-over takes, although the calls are even. Not when a stage leads clearly: such
/// a run was short, with its start and end inside.
bool loses_more_than_hand_overs(const Analysis& analysis) {
  return loses_at_a_link(analysis) && !analysis.contended && !is_leading(analysis, *analysis.top) &&
         lost_per_chunk_ns(analysis, *analysis.worst_link) >= static_cast<double>(verdict::kLongestHandOverNs);
}

Verdict link_verdict(const Analysis& analysis) {
  const std::size_t link = *analysis.worst_link;
  const auto& ends = analysis.input->links[link];
  Verdict verdict;
  verdict.kind = "link";
  verdict.stage = analysis.name(ends.from) + " -> " + analysis.name(ends.to);
  verdict.evidence = verdict::link_evidence(analysis, link);
  verdict.cannot_help = verdict::cannot_help_link(analysis, link);
  set_ceiling(verdict, verdict::ceiling_unhindered(analysis));
  Doubts doubts;
  doubts.add_window(analysis);
  doubts.add_count(analysis.stage(ends.to));
  if (analysis.link_loss[link] < 1.5 * verdict::kLinkLossShare) doubts.add(1, "little time is lost at the link");
  finish(
      verdict, doubts,
      fmt::format("link: no stage busy or due {}; {} blocked and {} starved at one link, the smaller >= {}, and calls "
                  "come in bursts or {} are lost per chunk",
                  percent(verdict::kPacingShare), percent(analysis.stages[ends.from].blocked),
                  percent(analysis.stages[ends.to].starved), percent(verdict::kLinkLossShare),
                  format_duration_ns(std::llround(lost_per_chunk_ns(analysis, link)))));
  return verdict;
}

Verdict hand_over_verdict(const Analysis& analysis) {
  Verdict verdict;
  verdict.kind = "latency";
  verdict.evidence = verdict::hand_over_evidence(analysis);
  verdict.cannot_help = verdict::cannot_help_hand_over(analysis);
  set_ceiling(verdict, verdict::ceiling_unhindered(analysis));
  Doubts doubts;
  doubts.add_window(analysis);
  doubts.add_count(analysis.stage(*analysis.top));
  const auto& shares = analysis.stages[*analysis.top];
  if (shares.busy > verdict::kLeadingBusyShare)
    doubts.add(1, fmt::format("{} was busy {}", analysis.name(*analysis.top), percent(shares.busy)));
  finish(verdict, doubts,
         fmt::format("latency: no stage busy or due {} (most: {} busy {}, ready {}), no link loses {} to bursts",
                     percent(verdict::kPacingShare), analysis.name(*analysis.top), percent(shares.busy),
                     percent(shares.ready), percent(verdict::kLinkLossShare)));
  return verdict;
}

Verdict nothing_to_judge(const VerdictInput& input) {
  Verdict verdict;
  verdict.confidence = "unsure";
  verdict.rule = fmt::format(
      "nothing to judge: {} seen (at least {} are needed), {} stages, or no stage was ever in a call",
      format_duration_ns(input.wall_ns), format_duration_ns(verdict::kShortestWindowNs), input.stages.size());
  verdict.evidence.emplace_back("The run was too short, or nothing went through: there is nothing to judge.");
  return verdict;
}

}  // namespace

Verdict judge(const VerdictInput& input) {
  const bool any_busy =
      std::any_of(input.stages.begin(), input.stages.end(), [](const auto& stage) { return stage.time.busy_ns > 0; });
  if (input.wall_ns < verdict::kShortestWindowNs || !any_busy) return nothing_to_judge(input);

  const Analysis analysis = verdict::analyse(input);
  const std::size_t top = *analysis.top;
  const bool full = pool_is_full(analysis);
  if (full || machine_is_crowded(analysis)) return workers_verdict(analysis, full);
  const bool pacing = is_pacing(analysis, top);
  if (!pacing && loses_to_bursts(analysis)) return link_verdict(analysis);
  if (const auto stages = balanced_stages(analysis); stages.size() > 1) return balanced_verdict(analysis, stages);
  if (pacing) return pacing_verdict(analysis, top, true);
  if (const auto sleeper = sleeping_on_the_workers(analysis)) return pacing_verdict(analysis, *sleeper, false);
  if (loses_more_than_hand_overs(analysis)) return link_verdict(analysis);
  if (is_leading(analysis, top)) return pacing_verdict(analysis, top, false);
  return hand_over_verdict(analysis);
}

std::string verdict_key(const Verdict& verdict) {
  return verdict.stage.empty() ? verdict.kind : verdict.kind + ":" + verdict.stage;
}

std::string verdict_title(const Verdict& verdict) {
  const std::string at = verdict.stage.empty() ? "" : fmt::format(" at '{}'", verdict.stage);
  if (verdict.kind == "io-read" || verdict.kind == "io-write") return "I/O-bound" + at;
  if (verdict.kind == "compute") return "compute-bound" + at;
  if (verdict.kind == "workers") return "out of cores";
  if (verdict.kind == "source-paced") return "paced by what feeds '" + verdict.stage + "'; the pipeline keeps up";
  if (verdict.kind == "link")
    return fmt::format("held up by the link '{}', which is too short for the bursts", verdict.stage);
  if (verdict.kind == "latency") return verdict.stage.empty() ? "latency-bound: nothing is busy" : "latency-bound" + at;
  if (verdict.kind == "balanced") return "balanced: no single stage limits the run";
  return "no verdict";
}

std::string verdict_title(const std::string& key) {
  Verdict verdict;
  const auto colon = key.find(':');
  verdict.kind = key.substr(0, colon);
  if (colon != std::string::npos) verdict.stage = key.substr(colon + 1);
  return verdict_title(verdict);
}

}  // namespace millrace
