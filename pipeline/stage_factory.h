#pragma once

#include <memory>
#include <vector>

#include "pipeline/core/registry.h"
#include "pipeline/core/stage.h"
#include "pipeline/spec.h"

namespace millrace {

/// Constructs one instance per slot. Error with stage and position when a constructor refuses, when an option is one
/// that the stage never reads (with the nearest that it does), or for more than one slot of a stage that is not
/// parallel.
std::vector<std::unique_ptr<Stage>> make_instances(const StageSpec& spec, const Registry& registry);

}  // namespace millrace
