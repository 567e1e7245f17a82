#include <fmt/format.h>

#include <utility>

#include "pipeline/config_value.h"
#include "pipeline/core/registry.h"

namespace millrace {
namespace {

constexpr const char* kForm = "write --set stage.key=value or --set pipeline.key=value";

struct Override {
  std::vector<std::string> path;  ///< at least two parts
  std::string value;
  SourcePosition position;
};

Override parse(const std::string& text) {
  const SourcePosition position{"<--set " + text + ">", 1, 1};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw config_error(fmt::format("no '=': {}", kForm), position);
  Override result{{""}, text.substr(equals + 1), position};
  for (const char character : text.substr(0, equals)) {
    if (character == '.') {
      result.path.emplace_back();
    } else if (character != ' ') {
      result.path.back() += character;
    }
  }
  constexpr std::size_t kMaxParts = 8;
  bool complete = result.path.size() >= 2 && result.path.size() <= kMaxParts;
  for (const auto& part : result.path) complete = complete && !part.empty();
  if (!complete) throw config_error(kForm, position);
  return result;
}

void set_position(ConfigValue& value, const SourcePosition& position) {
  value.position = position;
  if (auto* const list = value.list()) {
    for (auto& item : *list) set_position(item, position);
  }
  if (auto* const table = value.table()) {
    for (auto& entry : *table) set_position(entry.value, position);
  }
}

ConfigValue value_of(const Override& change) {
  ConfigValue result{change.value, change.position};
  try {
    const auto parsed = parse_toml("value = " + change.value, change.position.file);
    if (parsed.size() == 1) result = parsed.front().value;
  } catch (const Error&) {
    // Not TOML, so it is text: paths, sizes and names need no quotes on a command line.
  }
  set_position(result, change.position);
  return result;
}

/// Where the first part of the path leads.
ConfigValue::Table& root_of(ConfigValue::Table& config, const Override& change) {
  const std::string& target = change.path.front();
  if (target == "pipeline") {
    ConfigValue* found = find(config, "pipeline");
    if (found == nullptr) {
      config.push_back({"pipeline", {ConfigValue::Table{}, change.position}});
      found = &config.back().value;
    }
    if (auto* const table = found->table()) return *table;
    throw config_error("'pipeline' must be a table: write [pipeline]", found->position);
  }
  std::vector<std::string> names{"pipeline"};
  ConfigValue* const stages = find(config, "stage");
  if (stages != nullptr && stages->list() != nullptr) {
    for (auto& stage : *stages->list()) {
      auto* const table = stage.table();
      const ConfigValue* const name = table == nullptr ? nullptr : find(*table, "name");
      const auto* const text = name == nullptr ? nullptr : std::get_if<std::string>(&name->value);
      if (text == nullptr) continue;
      if (*text == target) return *table;
      names.push_back(*text);
    }
  }
  const std::string close = nearest(target, names);
  throw config_error(
      fmt::format("there is no stage '{}'{}", target, close.empty() ? "" : fmt::format("; did you mean '{}'?", close)),
      change.position);
}

}  // namespace

void apply_override(ConfigValue::Table& config, const std::string& override_text) {
  const Override change = parse(override_text);
  ConfigValue::Table* table = &root_of(config, change);
  if (change.path.size() == 2 && change.path[1] == "name" && change.path[0] != "pipeline") {
    throw config_error("the name of a stage cannot be set: links and overrides go by it", change.position);
  }
  for (std::size_t i = 1; i + 1 < change.path.size(); ++i) {
    ConfigValue* inner = find(*table, change.path[i]);
    if (inner == nullptr) {
      table->push_back({change.path[i], {ConfigValue::Table{}, change.position}});
      inner = &table->back().value;
    }
    table = inner->table();
    if (table == nullptr) {
      throw config_error(fmt::format("'{}' is not a table, so it has no key '{}'", change.path[i], change.path[i + 1]),
                         change.position);
    }
  }
  ConfigValue value = value_of(change);
  if (ConfigValue* const present = find(*table, change.path.back())) {
    *present = std::move(value);
  } else {
    table->push_back({change.path.back(), std::move(value)});
  }
}

}  // namespace millrace
