#include "pipeline/experiment_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "pipeline/config_value.h"
#include "pipeline/core/options.h"
#include "pipeline/core/registry.h"

namespace millrace {
namespace {

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys{"vary",   "arm",         "repeats",  "cache", "seed",
                                             "detect", "max_repeats", "max_time", "rotate"};
  return keys;
}

void refuse_unknown(const std::string& key, const std::vector<std::string>& known, const std::string& where,
                    const SourcePosition& position) {
  if (std::find(known.begin(), known.end(), key) != known.end()) return;
  const std::string close = nearest(key, known);
  throw config_error(fmt::format("{} has no key '{}'; {}", where, key,
                                 close.empty() ? fmt::format("it has: {}", fmt::join(known, " "))
                                               : fmt::format("did you mean '{}'?", close)),
                     position);
}

/// As TOML writes it on one line; its basic strings are JSON's.
std::string to_toml(const ConfigValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value.value)) {
    return nlohmann::json(*text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  if (const auto* const flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  if (const auto* const integer = std::get_if<std::int64_t>(&value.value)) return fmt::format("{}", *integer);
  if (const auto* const number = std::get_if<double>(&value.value)) {
    const std::string digits = fmt::format("{}", *number);
    return digits.find_first_of(".en") == std::string::npos ? digits + ".0" : digits;
  }
  std::vector<std::string> parts;
  if (const auto* const list = value.list()) {
    for (const auto& item : *list) parts.push_back(to_toml(item));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  for (const auto& entry : *value.table()) {
    parts.push_back(nlohmann::json(entry.key).dump() + " = " + to_toml(entry.value));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

VariedValue varied_value(const ConfigValue& value) {
  const auto* const text = std::get_if<std::string>(&value.value);
  return {to_toml(value), text == nullptr ? to_toml(value) : *text};
}

VariedKey varied_key(const std::string& key, const ConfigValue& value, const char* where) {
  const auto* const list = value.list();
  if (list == nullptr || list->empty()) {
    throw config_error(fmt::format("'{}' in '{}' must be a list of values", key, where), value.position);
  }
  VariedKey result{key, {}, value.position};
  for (const auto& item : *list) result.values.push_back(varied_value(item));
  return result;
}

/// `{ "read.via.advice" = [...] }` and `{ read.via.advice = [...] }` say the same.
void collect_varied(const ConfigValue::Table& table, const std::string& prefix, const char* where,
                    std::vector<VariedKey>& result) {
  for (const auto& [key, value] : table) {
    if (const auto* const inner = value.table()) {
      collect_varied(*inner, prefix + key + ".", where, result);
    } else {
      result.push_back(varied_key(prefix + key, value, where));
    }
  }
}

std::vector<VariedKey> read_varied(const ConfigValue& value, const char* where) {
  if (value.table() == nullptr) {
    throw config_error(fmt::format("'{}' must be a table: {} = {{ \"stage.key\" = [...] }}", where, where),
                       value.position);
  }
  std::vector<VariedKey> result;
  collect_varied(*value.table(), "", where, result);
  if (result.empty()) throw config_error(fmt::format("'{}' names no key", where), value.position);
  return result;
}

ExplicitArm read_arm(const ConfigValue& value) {
  if (value.table() == nullptr) throw config_error("an arm must be a table: write [[experiment.arm]]", value.position);
  for (const auto& entry : *value.table()) {
    refuse_unknown(entry.key, {"label", "set"}, "[[experiment.arm]]", entry.value.position);
  }
  const Options options = to_options(*value.table(), {}, value.position);
  ExplicitArm arm{options.require<std::string>("label"), options.get<std::vector<std::string>>("set", {}),
                  value.position};
  if (arm.label.empty()) throw options.error_at("label", "the label of an arm must not be empty");
  for (const auto& change : arm.overrides) {
    if (change.find('=') == std::string::npos) {
      throw options.error_at("set", fmt::format("\"{}\" has no '=': write \"stage.key=value\"", change));
    }
  }
  return arm;
}

std::vector<ExplicitArm> read_arms(const ConfigValue& value) {
  if (value.list() == nullptr) throw config_error("write [[experiment.arm]], with two brackets", value.position);
  std::vector<ExplicitArm> arms;
  std::set<std::string> labels;
  for (const auto& item : *value.list()) {
    arms.push_back(read_arm(item));
    if (!labels.insert(arms.back().label).second) {
      throw config_error(fmt::format("there are two arms \"{}\"", arms.back().label), arms.back().position);
    }
  }
  return arms;
}

/// `text` at its commas, but for those inside quotes, brackets and braces.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  char quote = '\0';
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (quote == '\0' && depth == 0 && character == ',') {
      parts.emplace_back();
      continue;
    }
    parts.back() += character;
    if (quote == '"' && character == '\\' && i + 1 < text.size()) {
      parts.back() += text[++i];
    } else if (quote != '\0') {
      if (character == quote) quote = '\0';
    } else if (character == '"' || character == '\'') {
      quote = character;
    } else if (character == '[' || character == '{') {
      ++depth;
    } else if ((character == ']' || character == '}') && depth > 0) {
      --depth;
    }
  }
  return parts;
}

/// A value as somebody typed it.
VariedValue typed_value(const std::string& part, const SourcePosition& position) {
  const auto first = part.find_first_not_of(' ');
  if (first == std::string::npos) throw config_error("a value is empty", position);
  const std::string text = part.substr(first, part.find_last_not_of(' ') - first + 1);
  const char quote = text.front();
  const bool quoted = text.size() >= 2 && (quote == '"' || quote == '\'') && text.back() == quote;
  return {text, quoted ? text.substr(1, text.size() - 2) : text};
}

template <typename T>
std::optional<T> given(const Options& options, const std::string& key) {
  if (!options.has(key)) return std::nullopt;
  return options.require<T>(key);
}

void read_plain(const Options& options, const ConfigValue::Table& table, ExperimentTable& result) {
  result.repeats = given<std::uint32_t>(options, "repeats");
  result.max_repeats = given<std::uint32_t>(options, "max_repeats");
  result.seed = given<std::uint64_t>(options, "seed");
  result.max_time = given<Duration>(options, "max_time");
  result.cache = given<std::string>(options, "cache");
  if (result.cache && *result.cache != "cold" && *result.cache != "warm" && *result.cache != "as-is") {
    throw options.error_at("cache", fmt::format("'cache' is cold, warm or as-is, not \"{}\"", *result.cache));
  }
  if (const ConfigValue* const detect = find(table, "detect")) {
    const auto* const text = std::get_if<std::string>(&detect->value);
    const auto* const number = std::get_if<double>(&detect->value);
    if (text != nullptr) result.detect = parse_share(*text);
    if (number != nullptr && *number > 0 && *number < 1) result.detect = *number;
    if (!result.detect) throw options.error_at("detect", "'detect' is a share like \"5%\" or 0.05, between 0 and 1");
  }
  if (result.repeats && *result.repeats == 0) throw options.error_at("repeats", "'repeats' must be at least 1");
  if (result.max_repeats && *result.max_repeats == 0) {
    throw options.error_at("max_repeats", "'max_repeats' must be at least 1");
  }
}

}  // namespace

ExperimentTable read_experiment(const ConfigValue& value) {
  if (value.table() == nullptr) {
    throw config_error("'experiment' must be a table: write [experiment], with one bracket", value.position);
  }
  ExperimentTable result;
  result.position = value.position;
  ConfigValue::Table plain;
  for (const auto& entry : *value.table()) {
    result.keys.emplace(entry.key, entry.value.position);
    refuse_unknown(entry.key, known_keys(), "[experiment]", entry.value.position);
    if (entry.key == "vary") {
      result.vary = read_varied(entry.value, "vary");
    } else if (entry.key == "arm") {
      result.arms = read_arms(entry.value);
    } else if (entry.key == "rotate") {
      auto keys = read_varied(entry.value, "rotate");
      if (keys.size() != 1) throw config_error("'rotate' names one key", entry.value.position);
      result.rotate = std::move(keys.front());
    } else {
      plain.push_back(entry);
    }
  }
  if (!result.vary.empty() && !result.arms.empty()) {
    throw config_error("an experiment has 'vary' or [[experiment.arm]], not both", result.at("vary"));
  }
  read_plain(to_options(plain, {}, value.position), plain, result);
  return result;
}

std::optional<double> parse_share(const std::string& text) {
  const std::size_t percent = text.find('%');
  std::string digits = text.substr(0, percent);
  while (!digits.empty() && digits.back() == ' ') digits.pop_back();
  if (percent != std::string::npos && percent + 1 != text.size()) return std::nullopt;
  double value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (percent != std::string::npos) value /= 100;
  if (!(value > 0 && value < 1)) return std::nullopt;
  return value;
}

VariedKey parse_varied(const std::string& text, const std::string& option) {
  const SourcePosition position{fmt::format("<{} {}>", option, text), 1, 1};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw config_error(fmt::format("write {} stage.key=a,b", option), position);
  }
  VariedKey result{text.substr(0, equals), {}, position};
  for (const auto& part : parts_of(std::string_view(text).substr(equals + 1))) {
    result.values.push_back(typed_value(part, position));
  }
  return result;
}

}  // namespace millrace
