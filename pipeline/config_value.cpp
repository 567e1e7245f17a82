#include "pipeline/config_value.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace millrace {
namespace {

template <typename Table>
auto find_in(Table& table, std::string_view key) {
  const auto found =
      std::find_if(table.begin(), table.end(), [key](const ConfigEntry& entry) { return entry.key == key; });
  return found == table.end() ? nullptr : &found->value;
}

/// `text` with every ${NAME} and $$ replaced.
std::string expanded(const std::string& text, const SourcePosition& position) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (next == '$') {
      result += '$';
      ++i;
    } else if (next == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string::npos) throw config_error("'${' without '}'", position);
      const std::string name = text.substr(i + 2, end - i - 2);
      // Nobody changes the environment while a config is read: there is one thread then.
      const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
      if (value == nullptr) throw config_error("the environment variable '" + name + "' is not set", position);
      result += value;
      i = end;
    } else {
      throw config_error("a single '$' in a text: write ${NAME} for an environment variable, $$ for a dollar sign",
                         position);
    }
  }
  return result;
}

void expand(ConfigValue& value) {
  if (auto* const text = std::get_if<std::string>(&value.value)) *text = expanded(*text, value.position);
  if (auto* const table = value.table()) expand_variables(*table);
  if (auto* const list = value.list()) std::for_each(list->begin(), list->end(), expand);
}

nlohmann::json to_json(const ConfigValue& value);

nlohmann::json to_json(const ConfigValue::Table& table) {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& entry : table) result[entry.key] = to_json(entry.value);
  return result;
}

nlohmann::json to_json(const ConfigValue& value) {
  if (const auto* const table = value.table()) return to_json(*table);
  if (const auto* const list = value.list()) {
    nlohmann::json result = nlohmann::json::array();
    for (const auto& item : *list) result.push_back(to_json(item));
    return result;
  }
  if (const auto* const boolean = std::get_if<bool>(&value.value)) return *boolean;
  if (const auto* const integer = std::get_if<std::int64_t>(&value.value)) return *integer;
  if (const auto* const number = std::get_if<double>(&value.value)) return *number;
  return std::get<std::string>(value.value);
}

OptionValue to_option(const ConfigValue& value, const std::filesystem::path& directory) {
  if (const auto* const table = value.table()) {
    return {std::make_shared<const Options>(to_options(*table, directory, value.position)), value.position};
  }
  if (const auto* const list = value.list()) {
    std::vector<std::string> texts;
    for (const auto& item : *list) {
      const auto* const text = std::get_if<std::string>(&item.value);
      if (text == nullptr) throw config_error("a list may hold text only", item.position);
      texts.push_back(*text);
    }
    return {std::move(texts), value.position};
  }
  if (const auto* const boolean = std::get_if<bool>(&value.value)) return {*boolean, value.position};
  if (const auto* const integer = std::get_if<std::int64_t>(&value.value)) return {*integer, value.position};
  if (const auto* const number = std::get_if<double>(&value.value)) return {*number, value.position};
  return {std::get<std::string>(value.value), value.position};
}

}  // namespace

ConfigValue* find(ConfigValue::Table& table, std::string_view key) { return find_in(table, key); }
const ConfigValue* find(const ConfigValue::Table& table, std::string_view key) { return find_in(table, key); }

void expand_variables(ConfigValue::Table& table) {
  for (auto& entry : table) expand(entry.value);
}

Options to_options(const ConfigValue::Table& table, const std::filesystem::path& directory,
                   const SourcePosition& position) {
  std::map<std::string, OptionValue> values;
  for (const auto& entry : table) values.emplace(entry.key, to_option(entry.value, directory));
  return {std::move(values), directory, position};
}

std::string to_json_text(const ConfigValue::Table& table) {
  // Environment variables and overrides need not be UTF-8; JSON has to be.
  return to_json(table).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace
