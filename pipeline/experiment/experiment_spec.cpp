#include "pipeline/experiment/experiment_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace millrace {
namespace {

/// Blocks at most with `detect`, when nobody says how many.
constexpr std::uint32_t kDetectBlocks = 40;

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

/// How a key is called in labels: by its last part where that says which.
std::string short_name(const std::string& key, const std::vector<VariedKey>& varied) {
  const auto same = std::count_if(varied.begin(), varied.end(),
                                  [&key](const VariedKey& other) { return last_part(other.key) == last_part(key); });
  return same > 1 ? key : last_part(key);
}

void require_different(const VariedKey& varied) {
  std::set<std::string> seen;
  for (const auto& value : varied.values) {
    if (!seen.insert(value.shown).second) {
      throw config_error(fmt::format("'{}' gets the value '{}' twice", varied.key, value.shown), varied.position);
    }
  }
}

/// Every combination of the values.
std::vector<ExperimentArm> product_of(const std::vector<VariedKey>& varied) {
  std::vector<ExperimentArm> arms{{}};
  std::set<std::string> keys;
  for (const auto& key : varied) {
    require_different(key);
    if (!keys.insert(key.key).second) throw config_error(fmt::format("'{}' is varied twice", key.key), key.position);
    std::vector<ExperimentArm> longer;
    for (const auto& arm : arms) {
      for (const auto& value : key.values) {
        ExperimentArm next = arm;
        if (!next.label.empty()) next.label += ' ';
        next.label += short_name(key.key, varied) + "=" + value.shown;
        next.overrides.push_back(key.key + "=" + value.text);
        longer.push_back(std::move(next));
      }
    }
    arms = std::move(longer);
    if (arms.size() > kMaxArms) {
      throw config_error(fmt::format("this makes more than {} arms; vary less at a time", kMaxArms), key.position);
    }
  }
  return arms;
}

std::vector<VariedKey> typed_keys(const std::vector<std::string>& texts) {
  std::vector<VariedKey> result;
  for (const auto& text : texts) result.push_back(parse_varied(text, "--vary"));
  return result;
}

std::vector<ExperimentArm> arms_of(const ExperimentRequest& request, const std::optional<ExperimentTable>& table) {
  if (!request.vary.empty()) return product_of(typed_keys(request.vary));
  if (!table) return {};
  if (table->arms.empty()) return product_of(table->vary);
  if (table->arms.size() > kMaxArms) {
    throw config_error(fmt::format("an experiment has at most {} arms", kMaxArms), table->at("arm"));
  }
  std::vector<ExperimentArm> arms;
  for (const auto& arm : table->arms) arms.push_back({arm.label, arm.overrides});
  return arms;
}

/// The baseline once more behind itself.
void add_again(std::vector<ExperimentArm>& arms) {
  ExperimentArm again = arms.front();
  again.label += " (again)";
  const bool taken =
      std::any_of(arms.begin(), arms.end(), [&again](const auto& arm) { return arm.label == again.label; });
  if (taken) throw config_error(fmt::format("an arm cannot be called '{}': the second baseline is", again.label));
  arms.insert(arms.begin() + 1, std::move(again));
}

CacheMode cache_mode(const std::string& text) {
  for (const CacheMode mode : {CacheMode::cold, CacheMode::warm, CacheMode::as_is}) {
    if (text == name_of(mode)) return mode;
  }
  throw config_error(fmt::format("--cache is cold, warm or as-is, not '{}'", text));
}

/// `repeats` and `detect` exclude each other; the command line's word counts for both.
void set_blocks(const ExperimentRequest& request, const ExperimentTable& table, ComparisonDesign& design) {
  if (request.repeats && !request.detect.empty()) {
    throw config_error("--repeats is a fixed number, --detect finds one: give one of them (and --max-repeats)");
  }
  if (table.repeats && table.detect) {
    throw config_error("'repeats' is a fixed number, 'detect' finds one: give one of them", table.at("detect"));
  }
  if (!request.detect.empty()) {
    design.detect = parse_share(request.detect);
    if (!design.detect) throw config_error(fmt::format("--detect is a share like 5%, not '{}'", request.detect));
  } else if (!request.repeats) {
    design.detect = table.detect;
  }
  const bool most = request.max_repeats || table.max_repeats;
  if (!design.detect && request.max_repeats) throw config_error("--max-repeats goes with --detect");
  if (!design.detect && most && !request.repeats && !table.repeats) {
    throw config_error("'max_repeats' goes with 'detect'", table.at("max_repeats"));
  }
  if (design.detect) {
    design.blocks = request.max_repeats.value_or(table.max_repeats.value_or(kDetectBlocks));
    design.pilot_blocks = std::min(design.pilot_blocks, design.blocks);
  } else {
    design.blocks = request.repeats.value_or(table.repeats.value_or(design.blocks));
  }
  if (design.blocks == 0) throw config_error("an experiment has at least one repeat");
  if (design.blocks > kMaxRepeats) throw config_error(fmt::format("an experiment has at most {} repeats", kMaxRepeats));
}

void set_rotation(const ExperimentRequest& request, const ExperimentTable& table, ExperimentSpec& result) {
  std::optional<VariedKey> rotate = table.rotate;
  if (!request.rotate.empty()) rotate = parse_varied(request.rotate, "--rotate");
  if (!rotate) return;
  require_different(*rotate);
  if (rotate->values.size() < 2) throw config_error("a rotation needs at least two files", rotate->position);
  for (const auto& arm : result.arms) {
    for (const auto& change : arm.overrides) {
      if (change.starts_with(rotate->key + "=")) {
        throw config_error(fmt::format("'{}' is set by arm '{}' and rotated", rotate->key, arm.label),
                           rotate->position);
      }
    }
  }
  result.rotate_key = rotate->key;
  result.rotate_files = rotate->values;
}

}  // namespace

std::string ExperimentSpec::input_of(std::uint64_t number) const {
  return rotate_files.empty() ? "" : rotate_files[number % rotate_files.size()].shown;
}

std::vector<std::string> ExperimentSpec::overrides_of(std::size_t arm, std::uint64_t number) const {
  std::vector<std::string> result = arms.at(arm).overrides;
  if (!rotate_files.empty()) result.push_back(rotate_key + "=" + rotate_files[number % rotate_files.size()].text);
  return result;
}

ExperimentSpec make_experiment(const ExperimentRequest& request, const std::optional<ExperimentTable>& table) {
  const ExperimentTable none;
  const ExperimentTable& stored = table ? *table : none;
  ExperimentSpec result;
  result.arms = arms_of(request, table);
  if (result.arms.size() < 2) {
    throw config_error(
        "there is nothing to compare: give --vary stage.key=a,b (two values at least), or arms in the config's "
        "[experiment]",
        request.vary.empty() ? stored.position : SourcePosition{});
  }
  add_again(result.arms);
  const std::string cache = request.cache.empty() ? stored.cache.value_or("") : request.cache;
  if (!cache.empty()) result.cache = cache_mode(cache);
  result.seed = request.seed.value_or(stored.seed.value_or(result.seed));
  set_blocks(request, stored, result.design);
  result.max_time = stored.max_time;
  if (!request.max_time.empty()) {
    result.max_time = parse_duration(request.max_time);
    if (!result.max_time) {
      throw config_error(
          fmt::format("--max-time is a time with its unit, like \"10 min\", not '{}'", request.max_time));
    }
  }
  set_rotation(request, stored, result);
  return result;
}

}  // namespace millrace
