#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/error.h"

namespace millrace {

/// Longest time that a stored report may claim, 31 years: a stage's five states can be summed without overflow.
inline constexpr double kMaxReportSeconds = 1e9;
inline constexpr std::uint64_t kMaxReportNs = 1'000'000'000'000'000'000U;

/// Error (kind config): not what `millrace <command>` writes.
[[noreturn]] inline void refuse_report(const std::string& what, const char* command = "run") {
  throw config_error(std::string("no report of millrace ") + command + ": " + what);
}

/// One JSON object with the path to it and the command that writes such reports, for messages. Every access checks.
class ReportReader {
 public:
  using Json = nlohmann::ordered_json;

  ReportReader(const Json& json, std::string path, const char* command = "run")
      : json_(json), path_(std::move(path)), command_(command) {
    if (!json_.is_object()) refuse((path_.empty() ? "it" : "'" + path_ + "'") + " is not an object");
  }

  [[noreturn]] void refuse(const std::string& what) const { refuse_report(what, command_); }

  bool has(const char* key) const {
    const auto at = json_.find(key);
    return at != json_.end() && !at->is_null();
  }
  std::string name(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  const Json& get(const char* key) const {
    const auto at = json_.find(key);
    if (at == json_.end()) refuse("'" + name(key) + "' is missing");
    return *at;
  }
  ReportReader object(const char* key) const { return {get(key), name(key), command_}; }
  const Json& array(const char* key) const {
    const Json& value = get(key);
    if (!value.is_array()) refuse("'" + name(key) + "' is not an array");
    return value;
  }
  template <typename Each>
  void each(const char* key, Each each) const {
    std::size_t i = 0;
    for (const Json& element : array(key))
      each(ReportReader(element, name(key) + "[" + std::to_string(i++) + "]", command_));
  }

  std::string text(const char* key) const {
    const Json& value = get(key);
    if (!value.is_string()) refuse("'" + name(key) + "' is not a string");
    return value.get<std::string>();
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> result;
    for (const Json& value : array(key)) {
      if (!value.is_string()) refuse("'" + name(key) + "' holds something that is not a string");
      result.push_back(value.get<std::string>());
    }
    return result;
  }
  bool flag(const char* key) const {
    const Json& value = get(key);
    if (!value.is_boolean()) refuse("'" + name(key) + "' is neither true nor false");
    return value.get<bool>();
  }
  double number(const char* key) const {
    const Json& value = get(key);
    if (!value.is_number() || !std::isfinite(value.get<double>())) refuse("'" + name(key) + "' is not a number");
    return value.get<double>();
  }
  /// Null is `otherwise`.
  double number_or(const char* key, double otherwise) const { return has(key) ? number(key) : otherwise; }
  std::uint64_t count(const char* key) const { return to_count(get(key), key); }
  std::uint64_t count_below(const char* key, std::uint64_t limit) const {
    const std::uint64_t value = count(key);
    if (value > limit) refuse("'" + name(key) + "' is out of range");
    return value;
  }
  std::int64_t ns(const char* key) const { return static_cast<std::int64_t>(count_below(key, kMaxReportNs)); }
  std::int64_t seconds(const char* key) const {
    const double value = number(key);
    if (std::abs(value) > kMaxReportSeconds) refuse("'" + name(key) + "' is out of range");
    return std::llround(value * 1e9);
  }

  /// An array of `size` counts.
  std::vector<std::uint64_t> counts(const char* key, std::size_t size) const { return to_counts(get(key), key, size); }
  std::vector<std::uint64_t> to_counts(const Json& values, const char* key, std::size_t size) const {
    if (!values.is_array() || values.size() != size) refuse("'" + name(key) + "' does not have one value per sample");
    std::vector<std::uint64_t> result;
    for (const Json& value : values) result.push_back(to_count(value, key));
    return result;
  }

 private:
  std::uint64_t to_count(const Json& value, const char* key) const {
    if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0))
      refuse("'" + name(key) + "' is not a count");
    return value.get<std::uint64_t>();
  }

  const Json& json_;
  std::string path_;
  const char* command_;
};

}  // namespace millrace
