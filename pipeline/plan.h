#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/core/registry.h"
#include "pipeline/core/stage.h"
#include "pipeline/spec.h"

namespace millrace {

/// One link, its type agreed on and its bounds final.
struct LinkPlan {
  std::size_t from = 0;  ///< index of the producing stage in Plan::stages
  std::size_t to = 0;
  std::uint64_t capacity_chunks = 0;
  std::uint64_t capacity_bytes = 0;
  WhenFull when_full = WhenFull::block;
  ChunkType type;
};

/// One stage, constructed and prepared, one instance per slot.
struct StagePlan {
  std::string name;
  std::string type;
  Role role = Role::transform;
  bool ordered = true;
  std::vector<std::unique_ptr<Stage>> instances;  ///< size = slots; all derive from the role's class
  std::vector<std::size_t> inputs;                ///< indices into Plan::links; one per `from`, in that order
  std::vector<std::size_t> outputs;               ///< indices into Plan::links

  std::uint32_t slots() const { return static_cast<std::uint32_t>(instances.size()); }
  /// Whether its calls run on the compute workers; else each of its slots has a thread.
  bool uses_workers() const;
};

/// The sum that the memory budget is held against, one line per part.
struct MemoryPlan {
  struct Line {
    std::string what;        ///< "link read -> decode"
    std::string arithmetic;  ///< "min(64.0 MiB, 16 x 4.00 MiB) + 1 slot x 4.00 MiB"
    std::uint64_t bytes = 0;
  };
  std::vector<Line> lines;
  std::uint64_t total_bytes = 0;
  std::uint64_t budget_bytes = 0;
};

/// Everything a run needs: stages in topological order (every link goes from a lower to a higher index).
struct Plan {
  std::string name;
  std::uint32_t threads = 1;  ///< resolved: at least 1
  Duration stall_timeout{};
  std::uint64_t loss_budget_chunks = 0;
  std::vector<StagePlan> stages;
  std::vector<LinkPlan> links;
  MemoryPlan memory;
  std::string config_json;
};

/// The shape of a pipeline: pure, opens and constructs nothing. Throws Error (kind config) with the position of the
/// offending key for: no stage, two stages of one name, an unknown type, a `from` that names nobody or itself, a
/// cycle, a source with input, a transform or sink without, a source or transform nobody reads, slots 0, a link
/// without room, `when_full` on a source.
void validate(const PipelineSpec& spec, const Registry& registry);

/// Validates, constructs all instances, checks that every option was read and that `slots` > 1 is allowed, runs
/// prepare() through the whole chain, and makes the memory plan. May open files, starts no thread, reads no bulk data.
/// Throws Error: kind config for what the config got wrong (also when the plan exceeds the budget: the message has the
/// sum and the largest line), kind run for files that cannot be used. Stage and position are filled in.
Plan prepare(const PipelineSpec& spec, const Registry& registry);

/// prepare() without the last step, for who wants to show the sum even when it is too large.
Plan prepare_without_budget(const PipelineSpec& spec, const Registry& registry);

/// Error (kind config) when the plan needs more memory than the spec allows: the sum, the budget, the largest line and
/// what to lower.
void require_within_budget(const Plan& plan, const PipelineSpec& spec);

/// Cores this process may use: the affinity mask, cut by the cgroup v1/v2 CPU quota (rounded up); at least 1.
std::uint32_t usable_cores();

}  // namespace millrace
