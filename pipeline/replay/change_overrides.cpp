// How a change is written in the config of the run.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "pipeline/core/units.h"
#include "pipeline/replay/change.h"

namespace millrace {
namespace {

using Json = nlohmann::json;
using What = Change::What;

const Json* find(const Json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() ? &*at : nullptr;
}

const Json* stage_of(const Json& config, const std::string& name) {
  const Json* const stages = find(config, "stage");
  if (stages == nullptr || !stages->is_array()) return nullptr;
  for (const Json& stage : *stages) {
    const Json* const its_name = find(stage, "name");
    if (its_name != nullptr && its_name->is_string() && its_name->get<std::string>() == name) return &stage;
  }
  return nullptr;
}

/// A stage whose device is made slow by `via` can be made faster there.
std::vector<std::string> throttle_overrides(const Change& change, const Json& config, std::string& why) {
  why = fmt::format("no key of the config makes '{}' {:g} times as fast", change.stage, change.times);
  const Json* const stage = stage_of(config, change.stage);
  const Json* const via = stage == nullptr ? nullptr : find(*stage, "via");
  if (via == nullptr) return {};
  std::vector<std::string> overrides;
  const Json* const rate = find(*via, "throttle_rate");
  if (rate != nullptr && rate->is_string()) {
    if (const auto bytes = parse_bytes(rate->get<std::string>()); bytes && bytes->count != 0)
      overrides.push_back(fmt::format("{}.via.throttle_rate=\"{} B\"", change.stage,
                                      std::llround(static_cast<double>(bytes->count) * change.times)));
  }
  const Json* const latency = find(*via, "latency");
  if (latency != nullptr && latency->is_string()) {
    if (const auto time = parse_duration(latency->get<std::string>()); time && time->count() > 0)
      overrides.push_back(fmt::format("{}.via.latency=\"{} ns\"", change.stage,
                                      std::llround(static_cast<double>(time->count()) / change.times)));
  }
  return overrides;
}

}  // namespace

std::vector<std::string> overrides_of(const Change& change, const std::string& config_json, std::string& why) {
  why.clear();
  switch (change.what) {
    case What::cores:
      why = "the number of cores is the machine's, not the config's";
      return {};
    case What::cpu:
      why = fmt::format("no key of the config makes '{}' compute {:g} times as fast", change.stage, change.times);
      return {};
    case What::rate:
    case What::wait: {
      const Json config = Json::parse(config_json, nullptr, false);
      auto overrides = throttle_overrides(change, config, why);
      if (!overrides.empty()) why.clear();
      return overrides;
    }
    case What::link_bytes:
      return {fmt::format("{}.link.bytes=\"{} B\"", change.stage, change.number)};
    default:
      return {text_of(change)};
  }
}

}  // namespace millrace
