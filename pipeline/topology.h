#pragma once

#include <cstddef>
#include <vector>

#include "pipeline/core/registry.h"
#include "pipeline/spec.h"

namespace millrace {

/// Who feeds whom, by index into PipelineSpec::stages.
struct Topology {
  std::vector<Role> roles;
  std::vector<std::vector<std::size_t>> inputs;  ///< per stage, in the order of its `from`
  std::vector<std::size_t> order;                ///< topological; stages that could swap keep file order
};

/// Resolves types to roles and `from`, given or not, to stages. Error (kind config, at the key) for an unknown type, a
/// source with `from`, a `from` that names nobody, itself, a sink or one stage twice, a first stage that is no source,
/// a stage that nobody reads, and a cycle. Names are unique already.
Topology resolve_topology(const PipelineSpec& spec, const Registry& registry);

}  // namespace millrace
