#include "pipeline/verdict_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/core/units.h"
#include "pipeline/verdict_thresholds.h"

namespace millrace::verdict {
namespace {

std::string seconds(double share, const Analysis& analysis) {
  // A stored report may claim any share; no time is longer than the stretch.
  return format_duration_ns(
      static_cast<std::int64_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(analysis.input->wall_ns)));
}

std::string wall(const Analysis& analysis) { return format_duration_ns(analysis.input->wall_ns); }

/// "never starved", "starved 3 % of its time"
std::string how_often(const char* word, double share) {
  return share < kNever ? fmt::format("never {}", word) : fmt::format("{} {} of its time", word, percent(share));
}

std::string each_slot(const VerdictInput::PerStage& stage) {
  return stage.slots > 1 ? fmt::format(" (each of its {} slots)", stage.slots) : "";
}

std::vector<bool> reachable(const Analysis& analysis, std::size_t from, bool downstream) {
  std::vector<bool> seen(analysis.stages.size(), false);
  std::vector<std::size_t> open{from};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const auto& link : analysis.input->links) {
      const std::size_t near = downstream ? link.from : link.to;
      const std::size_t far = downstream ? link.to : link.from;
      if (near != at || seen[far]) continue;
      seen[far] = true;
      open.push_back(far);
    }
  }
  return seen;
}

/// The stage among `among` with the largest `share`; the size of the vector when none has any.
std::size_t longest(const Analysis& analysis, const std::vector<bool>& among, double StageShares::*share) {
  std::size_t best = analysis.stages.size();
  for (std::size_t i = 0; i < analysis.stages.size(); ++i)
    if (among[i] && analysis.stages[i].*share > (best < analysis.stages.size() ? analysis.stages[best].*share : 0))
      best = i;
  return best;
}

/// "decode waited 8.3 s of 12.4 s for read", for the stages on both sides of the one that paces.
void add_waiters(std::vector<std::string>& out, const Analysis& analysis, std::size_t index) {
  const std::string& name = analysis.name(index);
  // Of those that starved, the one with the most work of its own: its waiting is what the run lost.
  std::vector<bool> starving = reachable(analysis, index, true);
  for (std::size_t i = 0; i < starving.size(); ++i)
    starving[i] = starving[i] && analysis.stages[i].starved >= kHardlyEver;
  std::size_t after = longest(analysis, starving, &StageShares::busy);
  if (after == analysis.stages.size()) after = longest(analysis, starving, &StageShares::starved);
  if (after < analysis.stages.size())
    out.push_back(fmt::format("{}{} waited {} of {} for {}.", analysis.name(after), each_slot(analysis.stage(after)),
                              seconds(analysis.stages[after].starved, analysis), wall(analysis), name));
  const std::size_t before = longest(analysis, reachable(analysis, index, false), &StageShares::blocked);
  if (before < analysis.stages.size() && analysis.stages[before].blocked >= kHardlyEver)
    out.push_back(fmt::format("{}{} was held up {} of {}, because {} took no more.", analysis.name(before),
                              each_slot(analysis.stage(before)), seconds(analysis.stages[before].blocked, analysis),
                              wall(analysis), name));
}

/// Of a stage whose work other processes do, what they did meanwhile; empty for others.
std::string children_time(const Analysis& analysis, std::size_t index) {
  const auto& stage = analysis.stage(index);
  if (stage.child_cpu_ns <= 0 || stage.busy.other_wait_ns <= 0) return {};
  const double cores = static_cast<double>(stage.child_cpu_ns) / static_cast<double>(stage.busy.other_wait_ns);
  const char* meaning = cores >= kChildComputes ? "they compute: their code, or more cores for it, is what counts"
                                                : "they mostly wait too: for a device, a network, a core or each other";
  return fmt::format(
      "{} was in its call {} of the time and waited {} of it for its child processes, which used {} of "
      "CPU time, {:.2f} cores while it waited: {}.",
      analysis.name(index), percent(analysis.stages[index].busy), percent(analysis.stages[index].other_wait),
      format_duration_ns(stage.child_cpu_ns), cores, meaning);
}

std::string own_time(const Analysis& analysis, std::size_t index, const std::string& kind) {
  const auto& shares = analysis.stages[index];
  const std::string& name = analysis.name(index);
  if (kind == "io-read" || kind == "io-write")
    return fmt::format("{} spent {} of its time waiting for the device and {} on the CPU.", name,
                       percent(shares.io_wait), percent(shares.on_cpu));
  if (kind == "compute" && analysis.stage(index).role != Role::transform)
    return fmt::format(
        "{} spent {} of its time computing and only {} waiting for the device: not the I/O but the code "
        "around it is slow.",
        name, percent(shares.on_cpu), percent(shares.io_wait));
  if (kind == "compute")
    return fmt::format("{} spent {} of its time computing on the CPU.", name, percent(shares.on_cpu));
  if (kind == "source-paced")
    return fmt::format("{} spent {} of its time asleep until its next chunk was there.", name,
                       percent(shares.other_wait));
  if (const auto children = children_time(analysis, index); !children.empty()) return children;
  return fmt::format(
      "{} was in its call {} of the time, but off the CPU there for {}: asleep, or waiting for a lock, a "
      "device or a network.",
      name, percent(shares.busy), percent(shares.other_wait));
}

/// Says who lost time to other threads: the stage itself, or the one that lost most.
void add_other_load(std::vector<std::string>& out, const Analysis& analysis, std::size_t index) {
  const std::vector<bool> all(analysis.stages.size(), true);
  std::size_t delayed = index;
  if (analysis.stages[index].run_delay < kHardlyEver) delayed = longest(analysis, all, &StageShares::run_delay);
  if (delayed == analysis.stages.size() || analysis.stages[delayed].run_delay < kHardlyEver) return;
  const bool own = analysis.cores_wanted > analysis.input->cores;
  out.push_back(fmt::format("{} waited {} of its time for a core; this run {} {:.1f} of {} cores{}.",
                            analysis.name(delayed), percent(analysis.stages[delayed].run_delay),
                            own ? "alone wanted" : "wanted", analysis.cores_wanted, analysis.input->cores,
                            own ? "" : ", so other processes had them"));
}

std::string names(const Analysis& analysis, const std::vector<std::size_t>& stages, const char* last_word) {
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i > 0) text += i + 1 == stages.size() ? fmt::format(" {} ", last_word) : ", ";
    text += analysis.name(stages[i]);
  }
  return text;
}

/// "more slots for decode: it starved 67 % of its time", for the two other transforms that are busiest.
void add_slots(std::vector<std::string>& out, const Analysis& analysis, std::size_t except) {
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i)
    if (i != except && analysis.stage(i).role == Role::transform && analysis.stages[i].waiting() >= kClearWait)
      idle.push_back(i);
  std::stable_sort(idle.begin(), idle.end(),
                   [&](std::size_t a, std::size_t b) { return analysis.stages[a].busy > analysis.stages[b].busy; });
  if (idle.size() > 2) idle.resize(2);
  for (const std::size_t i : idle) {
    const auto& shares = analysis.stages[i];
    const bool starved = shares.starved >= shares.blocked;
    out.push_back(fmt::format("more slots for {}: it {} {} of its time", analysis.name(i),
                              starved ? "starved" : "was blocked", percent(starved ? shares.starved : shares.blocked)));
  }
}

/// With a colon and the reason behind it.
constexpr const char* kAnyReadSetting = "any read setting, be it prefetch advice, transport or depth";

/// Rules out the read settings when nothing waited for a source that reads.
void add_reading(std::vector<std::string>& out, const Analysis& analysis, std::size_t index) {
  if (analysis.stage(index).role == Role::source || analysis.stages[index].starved >= kHardlyEver) return;
  out.push_back(fmt::format("{}: {} {}", kAnyReadSetting, analysis.name(index),
                            how_often("starved", analysis.stages[index].starved)));
}

/// ... or when the sources themselves were held up by what comes after them: faster, they would only wait longer.
void add_blocked_sources(std::vector<std::string>& out, const Analysis& analysis,
                         const std::vector<std::size_t>& pacing) {
  for (std::size_t i = 0; i < analysis.stages.size(); ++i) {
    if (analysis.stage(i).role != Role::source || analysis.stages[i].blocked < kClearWait) continue;
    if (std::find(pacing.begin(), pacing.end(), i) != pacing.end()) continue;
    out.push_back(fmt::format("{}: {} was blocked {} of its time", kAnyReadSetting, analysis.name(i),
                              percent(analysis.stages[i].blocked)));
  }
}

void add_writing(std::vector<std::string>& out, const Analysis& analysis, std::size_t index) {
  if (analysis.stage(index).role == Role::sink || analysis.stages[index].blocked >= kHardlyEver) return;
  for (std::size_t i = 0; i < analysis.stages.size(); ++i) {
    if (i == index || analysis.stage(i).role != Role::sink || analysis.stages[i].starved < kClearWait) continue;
    out.push_back(fmt::format("a faster output or any write setting: {} starved {} of its time", analysis.name(i),
                              percent(analysis.stages[i].starved)));
    return;
  }
}

void add_cores(std::vector<std::string>& out, const Analysis& analysis) {
  if (analysis.cores_used > kCoresToSpare * analysis.input->cores || analysis.ready_per_worker > kHardlyEver) return;
  out.push_back(
      fmt::format("more cores or threads: {:.1f} of {} cores were in use", analysis.cores_used, analysis.input->cores));
}

}  // namespace

std::string percent(double share) {
  const double value = share * 100;
  return value >= 9.95 || value < 0.05 ? fmt::format("{:.0f} %", value) : fmt::format("{:.1f} %", value);
}

std::vector<std::string> pacing_evidence(const Analysis& analysis, std::size_t index, const std::string& kind) {
  std::vector<std::string> out;
  add_waiters(out, analysis, index);
  out.push_back(own_time(analysis, index, kind));
  add_other_load(out, analysis, index);
  if (kind == "io-read" && analysis.stage(index).role == Role::transform)
    out.push_back(
        fmt::format("{} fetches the pages of a mapped file itself, by touching them first; the reader would do "
                    "it beside that with fault = \"reader\", or with another transport.",
                    analysis.name(index)));
  if (kind == "source-paced")
    if (const auto ceiling = ceiling_without(analysis, index); ceiling.speed_up > 0)
      out.push_back(fmt::format("Head-room: the stages after it could take {:.2f}x this rate.", ceiling.speed_up));
  if (kind == "latency" && analysis.pool_busy >= kPoolFullShare && analysis.ready_per_worker >= kReadyPerWorker)
    out.push_back(fmt::format("All {} workers were inside calls {} of the time, but computed only {} of it.",
                              analysis.input->threads, percent(analysis.pool_busy), percent(analysis.pool_load)));
  return out;
}

std::vector<std::string> workers_evidence(const Analysis& analysis) {
  std::vector<std::string> out;
  out.push_back(fmt::format("The stages wanted {:.1f} cores; the machine has {} and this run has {} compute {}.",
                            analysis.cores_wanted, analysis.input->cores, analysis.input->threads,
                            analysis.input->threads == 1 ? "worker" : "workers"));
  const std::size_t ready = longest(analysis, std::vector<bool>(analysis.stages.size(), true), &StageShares::ready);
  if (ready < analysis.stages.size() && analysis.stages[ready].ready >= kHardlyEver)
    out.push_back(fmt::format("{}{} could have worked for {} more of {}, but no worker was free.", analysis.name(ready),
                              each_slot(analysis.stage(ready)), seconds(analysis.stages[ready].ready, analysis),
                              wall(analysis)));
  const std::size_t delayed =
      longest(analysis, std::vector<bool>(analysis.stages.size(), true), &StageShares::run_delay);
  if (delayed < analysis.stages.size() && analysis.stages[delayed].run_delay >= kHardlyEver)
    out.push_back(fmt::format("{} waited {} of its time for a core in the middle of its calls.", analysis.name(delayed),
                              percent(analysis.stages[delayed].run_delay)));
  if (analysis.input->threads < analysis.input->cores)
    out.push_back(fmt::format("threads = {} leaves {} of {} cores without a worker.", analysis.input->threads,
                              analysis.input->cores - analysis.input->threads, analysis.input->cores));
  return out;
}

std::vector<std::string> balanced_evidence(const Analysis& analysis, const std::vector<std::size_t>& stages) {
  std::vector<std::string> out;
  out.push_back(fmt::format("{} are equally in demand: each needs about as long per chunk as the other{}.",
                            names(analysis, stages, "and"), stages.size() > 2 ? "s" : ""));
  for (const std::size_t i : stages) out.push_back(own_time(analysis, i, nature_of(analysis, i).kind));
  return out;
}

std::vector<std::string> link_evidence(const Analysis& analysis, std::size_t index) {
  const auto& link = analysis.input->links[index];
  const std::string& from = analysis.name(link.from);
  const std::string& to = analysis.name(link.to);
  std::vector<std::string> out;
  out.push_back(fmt::format("The link {} -> {} ran full and empty in turn: {} was held up {} and {} waited {} of {}.",
                            from, to, from, seconds(analysis.stages[link.from].blocked, analysis), to,
                            seconds(analysis.stages[link.to].starved, analysis), wall(analysis)));
  out.push_back(
      fmt::format("Neither is busy all the time ({} {}, {} {}): the chunks come in bursts that are longer than what "
                  "the link holds ({} at most).",
                  from, percent(analysis.stages[link.from].busy), to, percent(analysis.stages[link.to].busy),
                  link.capacity_chunks));
  if (const auto ceiling = ceiling_unhindered(analysis); ceiling.speed_up > 0)
    out.push_back(fmt::format("A deeper link can make the run up to {:.2f}x faster.", ceiling.speed_up));
  return out;
}

std::vector<std::string> hand_over_evidence(const Analysis& analysis) {
  const std::size_t top = *analysis.top;
  std::vector<std::string> out;
  out.push_back(fmt::format("Nothing is busy: the busiest stage, {}, was in a call {} of the time.", analysis.name(top),
                            percent(analysis.stages[top].busy)));
  out.push_back(
      fmt::format("{:.1f} of {} cores computed; the rest went into handing chunks from stage to stage, a call "
                  "of {} takes {} (p50).",
                  analysis.cores_used, analysis.input->cores, analysis.name(top),
                  format_duration_ns(analysis.stage(top).call.p50_ns)));
  out.emplace_back("Larger chunks or deeper links make fewer hand-overs.");
  return out;
}

std::vector<std::string> cannot_help_pacing(const Analysis& analysis, std::size_t index, const std::string& kind) {
  const auto& shares = analysis.stages[index];
  const std::string& name = analysis.name(index);
  std::vector<std::string> out;
  if (kind == "source-paced")
    out.push_back(fmt::format("any setting of this pipeline: {} was {}, so it never had to wait for the pipeline", name,
                              how_often("blocked", shares.blocked)));
  add_slots(out, analysis, index);
  if (kind != "io-read") add_reading(out, analysis, index);  // a transform that waits for pages of a map reads itself
  add_writing(out, analysis, index);
  if (kind == "compute" && shares.busy >= kPacingShare && analysis.cores_used >= 0.95 * analysis.input->cores)
    out.push_back(fmt::format("more slots for {}: all {} cores are in use", name, analysis.input->cores));
  else if (kind == "compute" && shares.busy >= kPacingShare && analysis.pool_busy >= 0.95 &&
           analysis.stage(index).uses_workers())
    out.push_back(
        fmt::format("more slots for {}: no worker is free for them (threads = {})", name, analysis.input->threads));
  if (shares.busy >= kPacingBusyShare)
    out.push_back(fmt::format("a deeper link: {} was in its calls {} of the time", name, percent(shares.busy)));
  if (kind != "compute") add_cores(out, analysis);
  return out;
}

std::vector<std::string> cannot_help_workers(const Analysis& analysis) {
  std::vector<std::string> out;
  const std::size_t ready = longest(analysis, std::vector<bool>(analysis.stages.size(), true), &StageShares::ready);
  if (ready < analysis.stages.size() && analysis.stages[ready].ready >= kHardlyEver)
    out.push_back(fmt::format("more slots for {}: a slot was free and had work {} of its time", analysis.name(ready),
                              percent(analysis.stages[ready].ready)));
  add_blocked_sources(out, analysis, {});
  for (std::size_t i = 0; i < analysis.stages.size(); ++i)
    if (analysis.stage(i).role == Role::sink && analysis.stages[i].starved >= kClearWait)
      out.push_back(fmt::format("a faster output or any write setting: {} starved {} of its time", analysis.name(i),
                                percent(analysis.stages[i].starved)));
  out.emplace_back("a deeper link: work was waiting already");
  return out;
}

std::vector<std::string> cannot_help_balanced(const Analysis& analysis, const std::vector<std::size_t>& stages) {
  std::vector<std::string> out;
  out.push_back(fmt::format("speeding up only one of {}: the {} would hold the run at the same pace",
                            names(analysis, stages, "and"), stages.size() > 2 ? "others" : "other"));
  const std::vector<bool> all(analysis.stages.size(), true);
  const std::size_t idle = longest(analysis, all, &StageShares::starved);
  if (idle < analysis.stages.size() && analysis.stages[idle].starved >= kClearWait)
    out.push_back(fmt::format("a faster {}: it starved {} of its time", analysis.name(idle),
                              percent(analysis.stages[idle].starved)));
  add_blocked_sources(out, analysis, stages);
  return out;
}

std::vector<std::string> cannot_help_link(const Analysis& analysis, std::size_t index) {
  const auto& link = analysis.input->links[index];
  std::vector<std::string> out;
  out.push_back(fmt::format("more slots for {}: it starved {} of its time", analysis.name(link.to),
                            percent(analysis.stages[link.to].starved)));
  add_blocked_sources(out, analysis, {link.from});
  add_cores(out, analysis);
  return out;
}

std::vector<std::string> cannot_help_hand_over(const Analysis& analysis) {
  std::vector<std::string> out;
  out.push_back(fmt::format("a faster device, or faster code in any one stage: the busiest is busy {} of the time",
                            percent(analysis.stages[*analysis.top].busy)));
  add_cores(out, analysis);
  return out;
}

}  // namespace millrace::verdict
