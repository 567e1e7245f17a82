#include "stages/event_presets.h"

#include <array>
#include <string>
#include <vector>

#include "pipeline/core/registry.h"

namespace millrace {
namespace {

constexpr std::array<EventPreset, 3> kPresets{{
    {"r9_450bps", {.window_short = 3, .window_long = 6, .threshold_short = 1.4F, .threshold_long = 9.0F}, false},
    {"rna_130bps", {.window_short = 5, .window_long = 10, .threshold_short = 2.1F, .threshold_long = 13.5F}, true},
    {"rna_70bps", {.window_short = 7, .window_long = 12, .threshold_short = 2.8F, .threshold_long = 18.0F}, true},
}};

}  // namespace

EventPreset event_preset(const Options& options) {
  const auto wanted =
      options.get<std::string>("preset", kPresets[0].name, "numbers to start from: r9_450bps, rna_130bps or rna_70bps");
  std::vector<std::string> names;
  for (const auto& preset : kPresets) {
    if (wanted == preset.name) return preset;
    names.emplace_back(preset.name);
  }
  const std::string close = nearest(wanted, names);
  throw options.error_at("preset", "there is no preset '" + wanted + "'; " +
                                       (close.empty() ? "there are r9_450bps, rna_130bps and rna_70bps"
                                                      : "did you mean '" + close + "'?"));
}

}  // namespace millrace
