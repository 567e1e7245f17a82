#include "pipeline/stage_factory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace millrace {
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Every option that the type can have, as far as constructing it shows.
std::vector<std::string> known_options(const StageSpec& spec, const Registry& registry) {
  std::vector<std::string> result;
  for (const auto& description : registry.describe(spec.type)) result.push_back(description.key);
  for (const auto& description : spec.options.described()) {
    if (!contains(result, description.key)) result.push_back(description.key);
  }
  return result;
}

Error unknown_option(const StageSpec& spec, const std::vector<std::string>& known, const std::string& key,
                     const SourcePosition& position) {
  std::vector<std::string> candidates = known;
  candidates.insert(candidates.end(), reserved_stage_keys().begin(), reserved_stage_keys().end());
  const std::string close = nearest(key, candidates);
  std::string hint = "it has none";
  if (!close.empty()) {
    hint = fmt::format("did you mean '{}'?", close);
  } else if (!known.empty()) {
    hint = fmt::format("it has: {}", fmt::join(known, " "));
  }
  return config_error(fmt::format("'{}' has no option '{}'; {}", spec.type, key, hint), position).in_stage(spec.name);
}

/// The first key that is given and that no stage of this type ever reads.
std::optional<Error> misspelt_option(const StageSpec& spec, const Registry& registry) {
  const auto known = known_options(spec, registry);
  for (const auto& [key, position] : spec.options.unread()) {
    if (!contains(known, key)) return unknown_option(spec, known, key, position);
  }
  return std::nullopt;
}

std::unique_ptr<Stage> make_instance(const StageSpec& spec, const Registry& registry) {
  try {
    Options options = spec.options;
    options.set_stage(spec.name);
    return registry.at(spec.type).make(options);
  } catch (Error& error) {
    // "'path' is required" is the lesser half of the truth when there is a 'pth'.
    if (error.kind() == ErrorKind::config) {
      if (const auto misspelt = misspelt_option(spec, registry)) throw Error(*misspelt);
      error.at_position(spec.position);
    }
    error.in_stage(spec.name);
    throw;
  } catch (const std::exception& failure) {
    throw Error(fmt::format("cannot be constructed: {}", failure.what())).in_stage(spec.name);
  }
}

}  // namespace

std::vector<std::unique_ptr<Stage>> make_instances(const StageSpec& spec, const Registry& registry) {
  std::vector<std::unique_ptr<Stage>> instances;
  instances.push_back(make_instance(spec, registry));
  const auto unread = spec.options.unread();
  if (!unread.empty()) {
    if (const auto misspelt = misspelt_option(spec, registry)) throw Error(*misspelt);
    throw config_error(
        fmt::format("'{}' does not use the option '{}' with these settings", spec.type, unread.front().first),
        unread.front().second)
        .in_stage(spec.name);
  }
  if (spec.slots > 1 && !instances.front()->parallel()) {
    throw config_error(fmt::format("'{}' handles its chunks one after the other, so 'slots' must be 1", spec.type),
                       spec.at("slots"))
        .in_stage(spec.name);
  }
  while (instances.size() < spec.slots) instances.push_back(make_instance(spec, registry));
  return instances;
}

}  // namespace millrace
