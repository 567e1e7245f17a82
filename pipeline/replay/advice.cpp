#include "pipeline/replay/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "pipeline/verdict.h"
#include "pipeline/verdict_thresholds.h"

namespace millrace {
namespace {

using What = Change::What;

/// A part of a stage's busy time that is smaller cannot pay: twice as fast it saves a tenth of the busy time.
constexpr double kPartWorthTrying = 0.2;
/// A link that was full for less of the run holds nobody up.
constexpr double kFullWorthTrying = 0.01;
constexpr std::uint64_t kDeeper = 4;
constexpr std::uint64_t kMaxLinkChunks = 65536;
/// Pairs are made of this many of the best single changes.
constexpr std::size_t kPairsOf = 6;

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// Which changes the run rules out, and the sentences that say so.
class Search {
 public:
  Search(const Calibration& calibration, const Verdict& verdict, std::vector<std::string>& refused)
      : run_(calibration.run), report_(calibration.replayed), verdict_(verdict), refused_(refused) {}

  std::vector<Change> changes() {
    const bool waits_for_others = verdict_.kind.starts_with("io-") || verdict_.kind == "source-paced";
    if (waits_for_others)
      refused_.push_back(fmt::format("no advice on threads and slots: the run is {}, and they do not make that faster",
                                     verdict_title(verdict_)));
    for (std::size_t i = 0; i < run_.stages.size(); ++i) {
      if (run_.stages[i].role == Role::source) {
        if (!reading_limits(i)) continue;
      } else if (run_.stages[i].role == Role::sink) {
        if (!writing_limits(i)) continue;
      }
      add_speed(i);
      if (!waits_for_others && run_.stages[i].role == Role::transform) add_slots(i);
    }
    if (!waits_for_others) add_threads();
    for (std::size_t i = 0; i < run_.links.size(); ++i) add_depth(i);
    return std::move(changes_);
  }

 private:
  const std::string& name(std::size_t stage) const { return run_.stages[stage].name; }
  std::int64_t active_ns(std::size_t stage) const {
    return report_.stages[stage].time.sum_ns() - report_.stages[stage].time.done_ns;
  }

  /// "never", "only 1.2 % of its time"
  static std::string seldom(double part) {
    return part < verdict::kNever ? "never" : fmt::format("only {:.1f} % of its time", 100 * part);
  }

  bool reading_limits(std::size_t source) {
    double most = 0;
    std::string who;
    for (const std::size_t link : run_.stages[source].outputs) {
      const std::size_t consumer = run_.links[link].to;
      const double starved = share(report_.links[link].starved_ns, active_ns(consumer));
      if (who.empty() || starved > most) who = name(consumer);
      most = std::max(most, starved);
    }
    if (most < verdict::kHardlyEver) {
      refused_.push_back(
          fmt::format("no advice on reading: '{}' starved for '{}' {}", who, name(source), seldom(most)));
      return false;
    }
    if (!run_.stages[source].paced) return true;
    refused_.push_back(fmt::format("no advice on reading: '{}' waits for its instrument", name(source)));
    return false;
  }

  bool writing_limits(std::size_t sink) {
    double most = 0;
    std::string who;
    for (const std::size_t link : run_.stages[sink].inputs) {
      const std::size_t producer = run_.links[link].from;
      const double blocked = share(report_.links[link].blocked_ns, active_ns(producer));
      if (who.empty() || blocked > most) who = name(producer);
      most = std::max(most, blocked);
    }
    if (most >= verdict::kHardlyEver) return true;
    refused_.push_back(fmt::format("no advice on writing: '{}' was blocked by '{}' {}", who, name(sink), seldom(most)));
    return false;
  }

  void add_speed(std::size_t stage) {
    const BusySplit& busy = report_.stages[stage].busy;
    const std::int64_t needed_ns = busy.sum_ns() - busy.run_delay_ns;
    if (share(busy.on_cpu_ns, needed_ns) >= kPartWorthTrying) changes_.push_back({What::cpu, name(stage), 0, 2});
    if (share(busy.io_wait_ns + busy.other_wait_ns, needed_ns) >= kPartWorthTrying)
      changes_.push_back({What::wait, name(stage), 0, 2});
  }

  void add_slots(std::size_t stage) {
    const std::uint32_t slots = run_.stages[stage].slots;
    if (!run_.stages[stage].parallel) return;
    for (const std::uint32_t more : {slots + 1, 2 * slots}) {
      const Change change{What::slots, name(stage), more, 1};
      const bool has_a_core = more <= run_.cores || !run_.stages[stage].uses_workers();
      if (has_a_core && std::find(changes_.begin(), changes_.end(), change) == changes_.end())
        changes_.push_back(change);
    }
  }

  void add_threads() {
    if (run_.threads < run_.cores) changes_.push_back({What::threads, "", run_.cores, 1});
  }

  void add_depth(std::size_t link) {
    const LinkReport& seen = report_.links[link];
    if (share(seen.time_full_ns, report_.wall_ns) < kFullWorthTrying) return;
    const Link::Bounds& bounds = run_.links[link].bounds;
    const std::string& into = name(run_.links[link].to);
    const bool by_chunks = seen.max_chunks >= bounds.chunks;
    const Change change = by_chunks
                              ? Change{What::link_chunks, into, std::min(kDeeper * bounds.chunks, kMaxLinkChunks), 1}
                              : Change{What::link_bytes, into, kDeeper * bounds.bytes, 1};
    if (std::find(changes_.begin(), changes_.end(), change) == changes_.end()) changes_.push_back(change);
  }

  const RecordedRun& run_;
  const RunReport& report_;
  const Verdict& verdict_;
  std::vector<std::string>& refused_;
  std::vector<Change> changes_;
};

bool larger_gain(const Prediction& a, const Prediction& b) { return a.gain > b.gain; }

bool same_setting(const Change& a, const Change& b) { return a.what == b.what && a.stage == b.stage; }

}  // namespace

std::vector<Change> changes_to_try(const Calibration& calibration, const Verdict& verdict,
                                   std::vector<std::string>& refused) {
  return Search(calibration, verdict, refused).changes();
}

Advice advise(const Calibration& calibration, const Verdict& verdict) {
  Advice advice;
  std::vector<Prediction> singles;
  for (const Change& change : changes_to_try(calibration, verdict, advice.refused))
    singles.push_back(predict(calibration, {change}));
  std::stable_sort(singles.begin(), singles.end(), larger_gain);
  advice.tried = singles.size();
  const std::size_t of = std::min(kPairsOf, singles.size());
  for (std::size_t i = 0; i < of; ++i) {
    for (std::size_t k = i + 1; k < of; ++k) {
      const Change& first = singles[i].changes.front();
      const Change& second = singles[k].changes.front();
      if (same_setting(first, second)) continue;
      Prediction pair = predict(calibration, {first, second});
      ++advice.tried;
      if (pair.gain >= kWorthwhileGain * std::max({singles[i].gain, singles[k].gain, 1.0}))
        advice.worth.push_back(std::move(pair));
    }
  }
  for (Prediction& single : singles)
    if (single.gain >= kWorthwhileGain) advice.worth.push_back(std::move(single));
  std::stable_sort(advice.worth.begin(), advice.worth.end(), larger_gain);
  return advice;
}

}  // namespace millrace
