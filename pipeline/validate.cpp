#include <fmt/format.h>

#include <map>

#include "pipeline/plan.h"
#include "pipeline/topology.h"

namespace millrace {
namespace {

// Above these a number is a slip of the keyboard: slots are objects with state, links are rings made in advance.
constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMaxSlots = 1024;
constexpr std::uint64_t kMaxLinkChunks = 65536;

void refuse_equal_names(const PipelineSpec& spec) {
  std::map<std::string, const StageSpec*> seen;
  for (const auto& stage : spec.stages) {
    const auto [place, added] = seen.emplace(stage.name, &stage);
    if (added) continue;
    throw config_error(
        fmt::format("two stages are called '{}'; the first is in line {}", stage.name, place->second->position.line),
        stage.at("name"));
  }
}

void check_numbers(const StageSpec& stage) {
  const auto refuse = [&stage](const char* key, const std::string& message) {
    throw config_error(message, stage.at(key)).in_stage(stage.name);
  };
  if (stage.slots < 1 || stage.slots > kMaxSlots) {
    refuse("slots", fmt::format("'slots' must be between 1 and {}, not {}", kMaxSlots, stage.slots));
  }
  if (stage.link.chunks < 1 || stage.link.chunks > kMaxLinkChunks) {
    refuse("link", fmt::format("'link.chunks' must be between 1 and {}, not {}", kMaxLinkChunks, stage.link.chunks));
  }
  if (stage.link.bytes.count < 1) refuse("link", "'link.bytes' must be more than 0: nothing would fit");
}

/// A source has no link into it.
void refuse_link_keys(const StageSpec& stage) {
  for (const char* const key : {"when_full", "link"}) {
    const bool given = stage.keys.contains(key);
    if (!given && (key != std::string("when_full") || stage.link.when_full == WhenFull::block)) continue;
    throw config_error(fmt::format("'{}' is about the link into a stage, and a source has none; it goes to the stage "
                                   "that reads from this one",
                                   key),
                       stage.at(key))
        .in_stage(stage.name);
  }
}

}  // namespace

void validate(const PipelineSpec& spec, const Registry& registry) {
  if (spec.stages.empty()) {
    throw config_error("there is no [[stage]]: a pipeline needs at least a source and a sink",
                       {spec.file.string(), 1, 1});
  }
  if (spec.threads > kMaxThreads) {
    const auto key = spec.keys.find("threads");
    throw config_error(fmt::format("'threads' must be at most {}, not {}", kMaxThreads, spec.threads),
                       key == spec.keys.end() ? SourcePosition{} : key->second);
  }
  refuse_equal_names(spec);
  for (const auto& stage : spec.stages) check_numbers(stage);
  const Topology topology = resolve_topology(spec, registry);
  for (std::size_t i = 0; i < spec.stages.size(); ++i) {
    if (topology.roles[i] == Role::source) refuse_link_keys(spec.stages[i]);
  }
}

}  // namespace millrace
