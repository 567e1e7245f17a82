#include "pipeline/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "pipeline/memory_plan.h"
#include "pipeline/stage_factory.h"
#include "pipeline/topology.h"

namespace millrace {
namespace {

/// Runs `call` and says of which stage, and where in the config, what it throws.
template <typename Call>
auto on_behalf_of(const StageSpec& spec, const Call& call) {
  try {
    return call();
  } catch (Error& error) {
    if (error.kind() == ErrorKind::config) error.at_position(spec.position);
    error.in_stage(spec.name);
    throw;
  } catch (const std::exception& failure) {
    throw Error(fmt::format("cannot be prepared: {}", failure.what())).in_stage(spec.name);
  }
}

ChunkType prepare_source(const StagePlan& stage) {
  auto& first = dynamic_cast<Source&>(*stage.instances.front());
  ChunkType type = first.prepare();
  for (std::size_t i = 1; i < stage.instances.size(); ++i) {
    auto& further = dynamic_cast<Source&>(*stage.instances[i]);
    if (!further.prepare_like(first)) further.prepare();
  }
  return type;
}

ChunkType prepare_transform(const StagePlan& stage, const ChunkType& input) {
  ChunkType type;
  for (const auto& instance : stage.instances) type = dynamic_cast<Transform&>(*instance).prepare(input);
  return type;
}

void prepare_sink(const StagePlan& stage, const ChunkType& input) {
  for (const auto& instance : stage.instances) dynamic_cast<Sink&>(*instance).prepare(input);
}

class Planner {
 public:
  Planner(const PipelineSpec& spec, const Registry& registry)
      : spec_(spec), registry_(registry), topology_(resolve_topology(spec, registry)) {}

  Plan run() {
    plan_.name = spec_.name;
    plan_.threads = spec_.threads == 0 ? usable_cores() : spec_.threads;
    plan_.stall_timeout = spec_.stall_timeout;
    plan_.loss_budget_chunks = spec_.loss_budget_chunks;
    plan_.config_json = spec_.json;
    place_of_.resize(spec_.stages.size());
    for (std::size_t place = 0; place < topology_.order.size(); ++place) place_of_[topology_.order[place]] = place;
    for (const std::size_t index : topology_.order) construct(index);
    for (std::size_t place = 0; place < plan_.stages.size(); ++place) prepare_stage(place);
    plan_.memory = make_memory_plan(plan_, spec_.memory.count);
    return std::move(plan_);
  }

 private:
  const StageSpec& spec_at(std::size_t place) const { return spec_.stages[topology_.order[place]]; }

  /// Constructors open nothing, so all options are checked before the first file is touched.
  void construct(std::size_t index) {
    const StageSpec& stage = spec_.stages[index];
    StagePlan planned;
    planned.name = stage.name;
    planned.type = stage.type;
    planned.role = topology_.roles[index];
    planned.ordered = stage.ordered;
    planned.instances = make_instances(stage, registry_);
    for (const std::size_t input : topology_.inputs[index]) {
      const std::size_t link = plan_.links.size();
      planned.inputs.push_back(link);
      plan_.stages[place_of_[input]].outputs.push_back(link);
      plan_.links.push_back({place_of_[input], plan_.stages.size(), stage.link.chunks, stage.link.bytes.count,
                             stage.link.when_full, ChunkType{}});
    }
    plan_.stages.push_back(std::move(planned));
  }

  void prepare_stage(std::size_t place) {
    const StageSpec& spec = spec_at(place);
    StagePlan& stage = plan_.stages[place];
    if (stage.role == Role::sink) {
      const ChunkType input = input_of(place);
      on_behalf_of(spec, [&] { prepare_sink(stage, input); });
      return;
    }
    const ChunkType output = on_behalf_of(spec, [&] {
      return stage.role == Role::source ? prepare_source(stage) : prepare_transform(stage, input_of(place));
    });
    if (output.max_bytes == 0) {
      throw config_error("its chunks have no upper bound in bytes, so the memory of the run cannot be planned",
                         spec.position)
          .in_stage(spec.name);
    }
    for (const std::size_t link : stage.outputs) plan_.links[link].type = output;
  }

  /// What arrives at a stage: one type, whatever the number of links.
  ChunkType input_of(std::size_t place) const {
    const StageSpec& spec = spec_at(place);
    const auto& inputs = plan_.stages[place].inputs;
    const LinkPlan& first = plan_.links[inputs.front()];
    ChunkType type = first.type;
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      const LinkPlan& link = plan_.links[inputs[i]];
      if (link.type.dtype != type.dtype || link.type.content != type.content) {
        throw config_error(fmt::format("it merges streams of two types: {} from '{}', {} from '{}'", type.text(),
                                       plan_.stages[first.from].name, link.type.text(), plan_.stages[link.from].name),
                           i < spec.from_positions.size() ? spec.from_positions[i] : spec.at("from"))
            .in_stage(spec.name);
      }
      type.max_bytes = std::max(type.max_bytes, link.type.max_bytes);
    }
    return type;
  }

  const PipelineSpec& spec_;
  const Registry& registry_;
  const Topology topology_;
  std::vector<std::size_t> place_of_;  ///< index in the spec -> index in the plan
  Plan plan_;
};

/// What to change in the config so that `line` gets smaller.
std::string advice_for(const Plan& plan, std::size_t line) {
  if (line >= plan.links.size()) {
    return fmt::format("lower 'slots' of '{}' or its chunks", plan.stages[line - plan.links.size()].name);
  }
  return fmt::format("lower 'link' of '{}' (chunks or bytes)", plan.stages[plan.links[line].to].name);
}

}  // namespace

bool StagePlan::uses_workers() const {
  return role == Role::transform && !dynamic_cast<const Transform&>(*instances.front()).waits();
}

Plan prepare_without_budget(const PipelineSpec& spec, const Registry& registry) {
  validate(spec, registry);
  return Planner(spec, registry).run();
}

void require_within_budget(const Plan& plan, const PipelineSpec& spec) {
  const MemoryPlan& memory = plan.memory;
  if (memory.total_bytes <= memory.budget_bytes) return;
  const auto largest = std::max_element(memory.lines.begin(), memory.lines.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const auto key = spec.keys.find("memory");
  throw config_error(fmt::format("the plan needs {}, the budget 'memory' is {}; the largest part is {} with {} = {}; "
                                 "{}, or raise 'memory'",
                                 format_bytes(memory.total_bytes), format_bytes(memory.budget_bytes), largest->what,
                                 largest->arithmetic, format_bytes(largest->bytes),
                                 advice_for(plan, static_cast<std::size_t>(largest - memory.lines.begin()))),
                     key == spec.keys.end() ? SourcePosition{spec.file.string(), 1, 1} : key->second);
}

Plan prepare(const PipelineSpec& spec, const Registry& registry) {
  Plan plan = prepare_without_budget(spec, registry);
  require_within_budget(plan, spec);
  return plan;
}

}  // namespace millrace
