#pragma once

#include "pipeline/core/registry.h"

namespace millrace {

/// Registers every stage that millrace comes with.
void add_builtin_stages(Registry& registry);

}  // namespace millrace
