#include "pipeline/core/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace millrace {

/// Shared by the copies of one Options and by its sub-tables.
struct Options::Memory {
  bool recording = false;
  std::set<std::string> asked;  // dotted
  std::vector<OptionDescription> descriptions;
};

namespace {

const char* kind_of(const OptionValue& value) {
  constexpr std::array<const char*, 6> kNames{"a boolean", "an integer",     "a number",
                                              "text",      "a list of text", "a table"};
  return kNames.at(value.value.index());
}

[[noreturn]] void wrong_type(const std::string& key, const OptionValue& value, const std::string& wanted) {
  throw config_error("'" + key + "' must be " + wanted + ", not " + kind_of(value), value.position);
}

void collect_unread(const Options& options, const std::string& prefix, const std::set<std::string>& asked,
                    std::vector<std::pair<std::string, SourcePosition>>& result) {
  for (const auto& [key, value] : options.values()) {
    const std::string dotted = prefix + key;
    if (!asked.contains(dotted)) {
      result.emplace_back(dotted, value.position);
    } else if (const auto* const table = std::get_if<OptionValue::Table>(&value.value)) {
      collect_unread(**table, dotted + ".", asked, result);
    }
  }
}

/// The fewest digits that give the same number back, always with a sign that it is no integer.
template <typename T>
std::string shortest(T value) {
  std::array<char, 32> text{};  // a double has at most 24 characters
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string result(text.data(), written.ptr);
  return result.find_first_of(".en") == std::string::npos ? result + ".0" : result;
}

}  // namespace

Options::Options() : memory_(std::make_shared<Memory>()) {}

Options::Options(std::map<std::string, OptionValue> values, std::filesystem::path directory, SourcePosition position)
    : values_(std::move(values)),
      directory_(std::move(directory)),
      position_(std::move(position)),
      memory_(std::make_shared<Memory>()) {}

Options Options::recorder() {
  Options options;
  options.memory_->recording = true;
  return options;
}

Options Options::table(const std::string& key) const {
  memory_->asked.insert(prefix_ + key);
  Options result;
  if (const OptionValue* const found = find(key)) {
    const auto* const table = std::get_if<OptionValue::Table>(&found->value);
    if (table == nullptr) wrong_type(prefix_ + key, *found, "a table");
    result.values_ = (*table)->values_;
    result.position_ = found->position;
  } else {
    result.position_ = position_;
  }
  result.directory_ = directory_;
  result.stage_ = stage_;
  result.prefix_ = prefix_ + key + ".";
  result.memory_ = memory_;
  return result;
}

bool Options::has(const std::string& key) const {
  memory_->asked.insert(prefix_ + key);
  return values_.contains(key);
}

Error Options::error_at(const std::string& key, const std::string& message) const {
  const OptionValue* const found = find(key);
  return config_error(message, found == nullptr ? position_ : found->position);
}

std::vector<std::pair<std::string, SourcePosition>> Options::unread() const {
  std::vector<std::pair<std::string, SourcePosition>> result;
  collect_unread(*this, prefix_, memory_->asked, result);
  return result;
}

std::vector<OptionDescription> Options::described() const { return memory_->descriptions; }

const OptionValue* Options::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

bool Options::recording() const { return memory_->recording; }

Error Options::missing(const std::string& key) const {
  return config_error("'" + prefix_ + key + "' is required", position_);
}

void Options::record(OptionDescription description) const {
  description.key.insert(0, prefix_);
  memory_->asked.insert(description.key);
  const bool known = std::any_of(memory_->descriptions.begin(), memory_->descriptions.end(),
                                 [&description](const auto& other) { return other.key == description.key; });
  if (!known) memory_->descriptions.push_back(std::move(description));
}

std::int64_t Options::to_integer(const std::string& key, const OptionValue& value, std::int64_t min, std::int64_t max) {
  const auto* const integer = std::get_if<std::int64_t>(&value.value);
  if (integer == nullptr) wrong_type(key, value, "an integer");
  if (*integer < min || *integer > max) {
    throw config_error("'" + key + "' must be between " + std::to_string(min) + " and " + std::to_string(max) +
                           ", not " + std::to_string(*integer),
                       value.position);
  }
  return *integer;
}

double Options::to_number(const std::string& key, const OptionValue& value, double max) {
  if (const auto* const number = std::get_if<double>(&value.value)) {
    if (!std::isfinite(*number)) throw config_error("'" + key + "' must be finite", value.position);
    if (std::abs(*number) > max) throw config_error("'" + key + "' is too large for its type", value.position);
    return *number;
  }
  if (const auto* const integer = std::get_if<std::int64_t>(&value.value)) return static_cast<double>(*integer);
  wrong_type(key, value, "a number");
}

bool Options::to_boolean(const std::string& key, const OptionValue& value) {
  if (const auto* const boolean = std::get_if<bool>(&value.value)) return *boolean;
  wrong_type(key, value, "true or false");
}

std::string Options::to_text(const std::string& key, const OptionValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value.value)) return *text;
  wrong_type(key, value, "text");
}

Bytes Options::to_bytes(const std::string& key, const OptionValue& value) {
  const auto* const text = std::get_if<std::string>(&value.value);
  if (text == nullptr) wrong_type(key, value, "a size with its unit, like \"4 MiB\"");
  const auto bytes = parse_bytes(*text);
  if (!bytes) {
    throw config_error("'" + key +
                           "' must be a size with its unit, like \"4 MiB\" (B kB MB GB TB KiB MiB GiB TiB), not \"" +
                           *text + "\"",
                       value.position);
  }
  return *bytes;
}

Duration Options::to_duration(const std::string& key, const OptionValue& value) {
  const auto* const text = std::get_if<std::string>(&value.value);
  if (text == nullptr) wrong_type(key, value, "a time with its unit, like \"250 ms\"");
  const auto duration = parse_duration(*text);
  if (!duration) {
    throw config_error(
        "'" + key + "' must be a time with its unit, like \"250 ms\" (ns us ms s min h), not \"" + *text + "\"",
        value.position);
  }
  return *duration;
}

std::vector<std::string> Options::to_list(const std::string& key, const OptionValue& value) {
  if (const auto* const list = std::get_if<std::vector<std::string>>(&value.value)) return *list;
  if (const auto* const text = std::get_if<std::string>(&value.value)) return {*text};
  wrong_type(key, value, "a list of text");
}

std::filesystem::path Options::resolve(const std::string& text) const {
  const std::filesystem::path path(text);
  return path.is_absolute() || directory_.empty() ? path : directory_ / path;
}

std::string Options::spell_number(float value) { return shortest(value); }
std::string Options::spell_number(double value) { return shortest(value); }

}  // namespace millrace
