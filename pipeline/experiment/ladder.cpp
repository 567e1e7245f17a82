#include "pipeline/experiment/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "pipeline/experiment/paired_effect.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

/// Probability that an interval misses the true ratio.
constexpr double kErrorRate = 0.05;

double geometric_mean(const std::vector<std::optional<double>>& rates) {
  double sum = 0;
  double count = 0;
  for (const auto& rate : rates) {
    if (!rate) continue;
    sum += std::log(*rate);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

const Rung* find(const std::vector<Rung>& rungs, RungKind kind) {
  const auto found = std::find_if(rungs.begin(), rungs.end(),
                                  [kind](const Rung& rung) { return rung.kind == kind && rung.ratio > 0; });
  return found == rungs.end() ? nullptr : &*found;
}

bool helps(const Rung* rung) {
  return rung != nullptr && rung->ratio >= ladder::kHelps && (!rung->low || *rung->low > 1);
}

/// It looks like a help, and the interval does not bear it out.
bool is_open(const Rung& rung) { return rung.ratio >= ladder::kHelps && !helps(&rung); }

std::string times(double ratio) { return fmt::format("{:.2f}x", ratio); }

std::string gain(const Rung& rung) { return fmt::format("{} {}", rung.label, times(rung.ratio)); }

/// One resource that the run would gain from, as far as single rungs show.
struct Candidate {
  Limit limit;
  std::string stage;
  double ratio;
  std::string words;
  bool dominates(const Candidate& other) const { return std::log(ratio) >= ladder::kDominates * std::log(other.ratio); }
};

bool larger(const Candidate& a, const Candidate& b) { return a.ratio > b.ratio; }

class Judge {
 public:
  explicit Judge(const std::vector<Rung>& rungs)
      : rungs_(rungs),
        reading_(find(rungs, RungKind::reading_free)),
        compute_(find(rungs, RungKind::compute_free)),
        replayed_(find(rungs, RungKind::replayed)),
        writing_(find(rungs, RungKind::writing_free)),
        links_(find(rungs, RungKind::deeper_links)) {
    for (const Rung& rung : rungs) {
      if (rung.kind == RungKind::stage_free && rung.ratio > 0) stages_.push_back(&rung);
    }
    std::stable_sort(stages_.begin(), stages_.end(), [](const Rung* a, const Rung* b) { return a->ratio > b->ratio; });
  }

  LadderFinding run() {
    if (rungs_.empty() || rungs_.front().rate <= 0) {
      finding_.reasons.emplace_back("No run as configured could be counted.");
      return finding_;
    }
    auto candidates = single_resources();
    std::stable_sort(candidates.begin(), candidates.end(), larger);
    if (helps(links_) && !outdone(candidates)) {
      decide(
          {Limit::links, "", links_->ratio, ""},
          fmt::format("Room for more chunks in the links alone helps: {}. The stages are fast enough in the mean and "
                      "wait for each other in turn.",
                      gain(*links_)));
    } else if (candidates.empty()) {
      without_single_resource();
    } else {
      choose(candidates);
    }
    return finding_;
  }

 private:
  void decide(const Candidate& candidate, std::string reason) {
    finding_.limit = candidate.limit;
    finding_.stage = candidate.stage;
    finding_.ceiling = candidate.ratio;
    finding_.reasons.push_back(std::move(reason));
  }

  /// More room helps a little, but one of the resources helps far more.
  bool outdone(const std::vector<Candidate>& candidates) const {
    return !candidates.empty() && candidates.front().limit != Limit::several &&
           candidates.front().dominates({Limit::links, "", links_->ratio, ""});
  }

  std::vector<Candidate> single_resources() const {
    std::vector<Candidate> result;
    if (helps(reading_)) result.push_back({Limit::reading, "", reading_->ratio, gain(*reading_)});
    if (helps(writing_)) result.push_back({Limit::writing, "", writing_->ratio, gain(*writing_)});
    if (helps(compute_)) result.push_back(within_compute());
    return result;
  }

  /// All of compute being free helps: which part of it?
  Candidate within_compute() const {
    if (cores_are_missing()) return {Limit::cores, "", replayed_->ratio, gain(*replayed_)};
    if (stages_.empty()) return {Limit::compute, "", compute_->ratio, gain(*compute_)};
    const Rung& first = *stages_.front();
    if (!helps(&first)) return {Limit::several, "", compute_->ratio, gain(*compute_)};
    return {Limit::compute, first.stage, first.ratio, gain(first)};
  }

  bool cores_are_missing() const {
    if (!helps(replayed_) || replayed_->ratio < ladder::kCoresMissing) return false;
    const bool one_stage_is_all =
        !stages_.empty() && std::log(stages_.front()->ratio) >= ladder::kStageOverCores * std::log(replayed_->ratio);
    return !one_stage_is_all;
  }

  void without_single_resource() {
    const Rung* best = nullptr;
    for (const RungKind kind :
         {RungKind::compute_writing_free, RungKind::reading_writing_free, RungKind::reading_compute_free}) {
      const Rung* const pair = find(rungs_, kind);
      if (helps(pair) && (best == nullptr || pair->ratio > best->ratio)) best = pair;
    }
    if (best != nullptr) {
      decide({Limit::several, "", best->ratio, ""},
             fmt::format("No resource alone helps, two at once do: {}.", gain(*best)));
      return;
    }
    const auto open = std::find_if(rungs_.begin() + 1, rungs_.end(), is_open);
    if (open != rungs_.end()) {
      finding_.limit = Limit::undecided;
      finding_.reasons.push_back(
          fmt::format("{} may help, but its runs differ too much; --repeats with more will tell.", gain(*open)));
      return;
    }
    finding_.limit = Limit::nothing;
    finding_.reasons.push_back(fmt::format("No rung is {} or more: what is left is handing chunks from stage to stage.",
                                           times(ladder::kHelps)));
  }

  void choose(const std::vector<Candidate>& candidates) {
    const Candidate& first = candidates.front();
    const bool alone = candidates.size() == 1;
    const auto cores = std::find_if(candidates.begin(), candidates.end(),
                                    [](const Candidate& candidate) { return candidate.limit == Limit::cores; });
    if (alone || first.dominates(candidates[1])) {
      decide(first, reason_of(first));
      if (alone) {
        finding_.reasons.emplace_back("No other resource helps alone.");
        return;
      }
      finding_.reasons.push_back(fmt::format("{} helps less.", candidates[1].words));
    } else if (cores != candidates.end()) {
      decide(*cores, reason_of(*cores));
      finding_.reasons.emplace_back("Whatever else helps gives cores free, too.");
    } else {
      decide({Limit::shared, "", first.ratio, ""},
             fmt::format("Each of these helps alone: {}, {}. They compete for something that both use (a device, the "
                         "memory), or wait for each other.",
                         first.words, candidates[1].words));
    }
  }

  std::string reason_of(const Candidate& candidate) const {
    switch (candidate.limit) {
      case Limit::cores:
        return fmt::format("The same work at the same pace without using cores helps: {}. Cores are missing.",
                           candidate.words);
      case Limit::several:
        return fmt::format("Freeing all transforms helps, {}; freeing one of them does not, at best {}.",
                           candidate.words, gain(*stages_.front()));
      case Limit::compute:
        return fmt::format("Freed of it the run is faster: {}.{}", candidate.words, why_not_cores());
      default:
        return fmt::format("Freed of it the run is faster: {}.", candidate.words);
    }
  }

  std::string why_not_cores() const {
    if (replayed_ == nullptr) return "";
    if (replayed_->ratio < ladder::kHelps)
      return fmt::format(" Its time limits, not the cores that it takes from others ({}).", gain(*replayed_));
    return fmt::format(" Cores are scarce as well ({}), but that stage alone matters more.", gain(*replayed_));
  }

  const std::vector<Rung>& rungs_;
  const Rung* reading_;
  const Rung* compute_;
  const Rung* replayed_;
  const Rung* writing_;
  const Rung* links_;
  std::vector<const Rung*> stages_;  // largest ratio first
  LadderFinding finding_;
};

/// What the ladder would have to find, were this verdict right.
Limit expected_from(const Verdict& verdict, std::optional<Role> role) {
  if (verdict.kind == "io-read" || verdict.kind == "source-paced") return Limit::reading;
  if (verdict.kind == "io-write") return Limit::writing;
  if (verdict.kind == "workers") return Limit::cores;
  if (verdict.kind == "link") return Limit::links;
  if (verdict.kind == "balanced") return Limit::several;
  if (!role) return Limit::nothing;  // latency of nobody: the time goes into handing over
  switch (*role) {
    case Role::source:
      return Limit::reading;
    case Role::transform:
      return Limit::compute;
    case Role::sink:
      break;
  }
  return Limit::writing;
}

std::string in_words(const LadderFinding& finding) {
  return finding.stage.empty() ? name_of(finding.limit)
                               : fmt::format("{} in '{}'", name_of(finding.limit), finding.stage);
}

bool same(const LadderFinding& finding, Limit expected, const Verdict& verdict) {
  // "Balanced" does not say whether the two would have to be freed at once, or get in each other's way.
  if (expected == Limit::several && finding.limit == Limit::shared) return true;
  if (finding.limit != expected) return false;
  return finding.limit != Limit::compute || finding.stage.empty() || finding.stage == verdict.stage;
}

Verdict most_common(const std::vector<Verdict>& verdicts, std::uint32_t& runs) {
  std::map<std::string, std::uint32_t> counts;
  for (const Verdict& verdict : verdicts) ++counts[verdict_key(verdict)];
  const Verdict* best = nullptr;
  runs = 0;
  for (const Verdict& verdict : verdicts) {
    const std::uint32_t count = counts[verdict_key(verdict)];
    if (count <= runs) continue;
    runs = count;
    best = &verdict;
  }
  return best == nullptr ? Verdict{} : *best;
}

}  // namespace

const char* name_of(RungKind kind) {
  static constexpr std::array kNames{
      "full",         "reading free", "compute free",         "compute replayed",     "stage free",
      "writing free", "links deeper", "reading+compute free", "reading+writing free", "compute+writing free"};
  return kNames.at(static_cast<std::size_t>(kind));
}

const char* name_of(Limit limit) {
  static constexpr std::array kNames{"reading", "compute", "cores",   "writing",  "links",
                                     "several", "shared",  "nothing", "undecided"};
  return kNames.at(static_cast<std::size_t>(limit));
}

void add_effects(std::vector<Rung>& rungs) {
  for (Rung& rung : rungs) {
    rung.rate = geometric_mean(rung.rates);
    const PairedEffect effect = paired_effect(log_ratios(rung.rates, rungs.front().rates));
    rung.ratio = effect.blocks == 0 ? 0 : std::exp(effect.mean);
    rung.low.reset();
    rung.high.reset();
    if (effect.blocks < 2 || &rung == &rungs.front()) continue;
    const double half = half_width(effect, kErrorRate);
    rung.low = std::exp(effect.mean - half);
    rung.high = std::exp(effect.mean + half);
  }
}

LadderFinding find_limit(const std::vector<Rung>& rungs) { return Judge(rungs).run(); }

Agreement compare_with_verdict(const LadderFinding& finding, const Verdict& verdict, std::optional<Role> role) {
  Agreement agreement;
  if (verdict.kind == "none") {
    agreement.why = "the report gives no verdict: its run was too short";
    return agreement;
  }
  if (finding.limit == Limit::undecided) {
    agreement.why = "the ladder is undecided";
    return agreement;
  }
  const Limit expected = expected_from(verdict, role);
  const bool agree = same(finding, expected, verdict);
  agreement.kind = agree ? Agreement::Kind::agree : Agreement::Kind::disagree;
  agreement.why =
      agree ? fmt::format("freeing what the verdict names is what helps ({})", in_words(finding))
            : fmt::format("by the verdict {}{} should limit, by experiment it is {}", name_of(expected),
                          expected == Limit::compute ? fmt::format(" in '{}'", verdict.stage) : "", in_words(finding));
  return agreement;
}

void judge_ladder(Ladder& ladder, const std::vector<Verdict>& verdicts,
                  const std::vector<std::pair<std::string, Role>>& roles) {
  add_effects(ladder.rungs);
  ladder.finding = find_limit(ladder.rungs);
  ladder.full_runs = static_cast<std::uint32_t>(verdicts.size());
  ladder.verdict = most_common(verdicts, ladder.verdict_runs);
  std::optional<Role> role;
  std::vector<std::string> transforms;
  for (const auto& [name, of_stage] : roles) {
    if (name == ladder.verdict.stage) role = of_stage;
    if (of_stage == Role::transform) transforms.push_back(name);
  }
  if (ladder.finding.limit == Limit::compute && transforms.size() == 1) ladder.finding.stage = transforms.front();
  ladder.agreement = compare_with_verdict(ladder.finding, ladder.verdict, role);
}

}  // namespace millrace
