#include "apps/commands.h"
#include "pipeline/plugin.h"
#include "stages/builtin.h"

namespace millrace::apps {

Registry make_registry(const std::vector<std::filesystem::path>& plugins) {
  Registry registry;
  add_builtin_stages(registry);
  for (const auto& plugin : plugins) load_plugin(plugin, registry);
  return registry;
}

}  // namespace millrace::apps
