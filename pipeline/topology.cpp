#include "pipeline/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace millrace {
namespace {

Role role_of(const StageSpec& stage, const Registry& registry) {
  try {
    return registry.at(stage.type).role;
  } catch (Error& error) {
    error.in_stage(stage.name).at_position(stage.at("type"));
    throw;
  }
}

Error wrong_from(const StageSpec& reader, std::size_t which, const std::string& message) {
  return config_error(message, which < reader.from_positions.size() ? reader.from_positions[which] : reader.at("from"))
      .in_stage(reader.name);
}

std::size_t index_of(const PipelineSpec& spec, const StageSpec& reader, std::size_t which) {
  const std::string& wanted = reader.from[which];
  for (std::size_t i = 0; i < spec.stages.size(); ++i) {
    if (spec.stages[i].name == wanted) return i;
  }
  std::vector<std::string> names;
  for (const auto& stage : spec.stages) {
    if (&stage != &reader) names.push_back(stage.name);
  }
  const std::string close = nearest(wanted, names);
  throw wrong_from(reader, which,
                   fmt::format("there is no stage '{}' to read from{}", wanted,
                               close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
}

std::vector<std::size_t> given_inputs(const PipelineSpec& spec, const std::vector<Role>& roles, std::size_t reader) {
  const StageSpec& stage = spec.stages[reader];
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < stage.from.size(); ++i) {
    const std::size_t input = index_of(spec, stage, i);
    const std::string& name = stage.from[i];
    if (input == reader) throw wrong_from(stage, i, "it cannot read from itself");
    if (roles[input] == Role::sink) throw wrong_from(stage, i, fmt::format("'{}' is a sink: nothing comes out", name));
    if (std::find(result.begin(), result.end(), input) != result.end()) {
      throw wrong_from(stage, i, fmt::format("it names '{}' twice", name));
    }
    result.push_back(input);
  }
  return result;
}

std::vector<std::size_t> inputs_of(const PipelineSpec& spec, const std::vector<Role>& roles, std::size_t reader) {
  const StageSpec& stage = spec.stages[reader];
  if (roles[reader] == Role::source) {
    if (stage.from.empty()) return {};
    throw wrong_from(stage, 0, fmt::format("'{}' is a source: it has no input", stage.type));
  }
  if (!stage.from.empty()) return given_inputs(spec, roles, reader);
  if (reader == 0) {
    throw config_error(fmt::format("'{}' is the first stage and a {}: it has nothing to read; put a source before it, "
                                   "or say which stage it reads with from = \"...\"",
                                   stage.name, name_of(roles[reader])),
                       stage.position);
  }
  const StageSpec& before = spec.stages[reader - 1];
  if (roles[reader - 1] == Role::sink) {
    throw config_error(
        fmt::format("'{}' would read from '{}' before it, which is a sink; say which stage it reads with "
                    "from = \"...\"",
                    stage.name, before.name),
        stage.position);
  }
  return {reader - 1};
}

/// "a -> b -> a", found by walking up from a stage that has no place in the order.
std::string cycle_text(const PipelineSpec& spec, const Topology& topology, std::size_t start) {
  const auto placed = [&topology](std::size_t stage) {
    return std::find(topology.order.begin(), topology.order.end(), stage) != topology.order.end();
  };
  std::vector<std::size_t> path{start};
  while (true) {
    const auto& inputs = topology.inputs[path.back()];
    const std::size_t next = *std::find_if_not(inputs.begin(), inputs.end(), placed);
    const bool closed = std::find(path.begin(), path.end(), next) != path.end();
    path.push_back(next);
    if (closed) break;
  }
  std::string text;
  for (auto stage = path.rbegin(); stage != path.rend(); ++stage) {
    text += (text.empty() ? "" : " -> ") + spec.stages[*stage].name;
    if (stage != path.rbegin() && *stage == path.back()) break;
  }
  return text;
}

void sort_topologically(const PipelineSpec& spec, Topology& topology) {
  std::vector<bool> placed(spec.stages.size(), false);
  while (topology.order.size() < spec.stages.size()) {
    std::size_t next = 0;
    const auto can_go = [&](std::size_t stage) {
      return !placed[stage] && std::all_of(topology.inputs[stage].begin(), topology.inputs[stage].end(),
                                           [&placed](std::size_t input) { return placed[input]; });
    };
    while (next < spec.stages.size() && !can_go(next)) ++next;
    if (next == spec.stages.size()) {
      const auto stuck = static_cast<std::size_t>(std::find(placed.begin(), placed.end(), false) - placed.begin());
      const StageSpec& stage = spec.stages[stuck];
      throw config_error("the stages form a cycle: " + cycle_text(spec, topology, stuck), stage.at("from"));
    }
    placed[next] = true;
    topology.order.push_back(next);
  }
}

void refuse_unread_stages(const PipelineSpec& spec, const Topology& topology) {
  std::vector<bool> read(spec.stages.size(), false);
  for (const auto& inputs : topology.inputs) {
    for (const std::size_t input : inputs) read[input] = true;
  }
  for (std::size_t i = 0; i < spec.stages.size(); ++i) {
    if (read[i] || topology.roles[i] == Role::sink) continue;
    throw config_error(fmt::format("nobody reads from '{}': end it in a sink such as null_writer, or name it in a from",
                                   spec.stages[i].name),
                       spec.stages[i].position);
  }
}

}  // namespace

Topology resolve_topology(const PipelineSpec& spec, const Registry& registry) {
  Topology topology;
  for (const auto& stage : spec.stages) topology.roles.push_back(role_of(stage, registry));
  for (std::size_t i = 0; i < spec.stages.size(); ++i) topology.inputs.push_back(inputs_of(spec, topology.roles, i));
  sort_topologically(spec, topology);
  refuse_unread_stages(spec, topology);
  return topology;
}

}  // namespace millrace
