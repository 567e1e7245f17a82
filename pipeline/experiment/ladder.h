#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/registry.h"
#include "pipeline/report.h"

namespace millrace {

/// Every number that the judgement of a ladder depends on.
namespace ladder {

/// A rung helps from this ratio to the run as configured on. A stage whose demand is within 6 % of the next is
/// "balanced" to the ledger (verdict::kBalancedRatio); a tenth is above that and above the noise of a quiet machine.
inline constexpr double kHelps = 1.10;

/// Cores are missing from this ratio of the replayed rung on. Replaying takes this program's computing off the machine,
/// and with it a share of what other programs take from a contended one, which easily makes a tenth.
inline constexpr double kCoresMissing = 1.20;

/// One of several transforms is named instead of the cores when freeing it alone gives this many times what the missing
/// cores give (in logarithms): then the others hardly count, and neither do their cores.
inline constexpr double kStageOverCores = 4.0;

/// One resource limits although others help too when the logarithm of its ratio is this many times that of the next.
/// Two that share something (a disk, cores) help each other about alike.
inline constexpr double kDominates = 2.0;

/// A ratio below this, with an interval below 1, is told: taking work away must not make a run slower.
inline constexpr double kSlower = 0.95;

}  // namespace ladder

enum class RungKind {
  full,                  ///< as configured
  reading_free,          ///< chunks of the sources come from memory
  compute_free,          ///< every transform gives its recorded outputs at once
  replayed,              ///< the same, but every call lasts as recorded without using a core; a worker for every slot
  stage_free,            ///< one transform gives its recorded outputs at once
  writing_free,          ///< sinks take and forget
  deeper_links,          ///< room for more chunks in every link
  reading_compute_free,  ///< reading and compute free
  reading_writing_free,  ///< reading and writing free
  compute_writing_free,  ///< compute and writing free
};

/// "reading free", "compute replayed", ...: as the table names a rung that needs no stage's name.
const char* name_of(RungKind kind);

/// One rung with what was measured.
struct Rung {
  RungKind kind = RungKind::full;
  std::string label;  ///< of the table
  std::string stage;  ///< of stage_free; else empty
  /// By block, per second, in the unit of Ladder::unit; nothing where the run was left out.
  std::vector<std::optional<double>> rates;
  double rate = 0;            ///< geometric mean of the rates
  double ratio = 0;           ///< geometric mean of rate / rate of `full` within the blocks; 0 = no block has both
  std::optional<double> low;  ///< 95 % interval of the ratio; nothing with fewer than 2 blocks
  std::optional<double> high;
};

/// Fills rate, ratio, low and high of all rungs. rungs[0] is `full`.
void add_effects(std::vector<Rung>& rungs);

/// What limits the run, by experiment.
enum class Limit {
  reading,
  compute,  ///< of one transform
  cores,    ///< all transforms together need more cores than there are
  writing,
  links,
  several,    ///< no resource alone, but two at once
  shared,     ///< several resources, each alone: they compete for something
  nothing,    ///< no rung helps: what is left is handing over
  undecided,  ///< the intervals are too wide
};

/// "reading", "compute", ...
const char* name_of(Limit limit);

struct LadderFinding {
  Limit limit = Limit::undecided;
  std::string stage;                 ///< of compute, when more than one transform was there to choose from
  double ceiling = 0;                ///< ratio of the rung that decided; 0 where none did
  std::vector<std::string> reasons;  ///< sentences with the ratios they rest on
};

/// What limits, from the ratios alone. Pure.
LadderFinding find_limit(const std::vector<Rung>& rungs);

/// Whether the ledger of the run as configured says the same.
struct Agreement {
  enum class Kind { agree, disagree, not_comparable };
  Kind kind = Kind::not_comparable;
  std::string why;  ///< one sentence with both sides
};

/// `role`: of the stage that the verdict names; source, transform or sink decide what freeing it would be.
Agreement compare_with_verdict(const LadderFinding& finding, const Verdict& verdict, std::optional<Role> role);

/// Everything that `millrace explain CONFIG` found.
struct Ladder {
  std::string name;
  std::string unit = "B";  ///< of the rates: "B" or "chunks"
  std::uint32_t repeats = 0;
  std::int64_t limit_ns = 0;  ///< most time of one run
  std::string cache;          ///< how the inputs were treated; empty = there are none
  std::vector<Rung> rungs;    ///< `full` first
  LadderFinding finding;
  Verdict verdict;                 ///< of the ledger: the one that most full runs gave
  std::uint32_t verdict_runs = 0;  ///< full runs that gave it
  std::uint32_t full_runs = 0;
  Agreement agreement;
  std::vector<std::string> remarks;  ///< what a reader must know of single rungs or runs
  bool interrupted = false;          ///< the user ended it; what is there is what was measured until then
};

/// Judges what was measured: effects, finding, agreement. `verdicts` are those of the full runs; `roles` the stages'.
void judge_ladder(Ladder& ladder, const std::vector<Verdict>& verdicts,
                  const std::vector<std::pair<std::string, Role>>& roles);

}  // namespace millrace
