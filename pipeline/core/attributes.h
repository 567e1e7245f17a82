#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace {

using AttributeValue = std::variant<std::int64_t, double, std::string>;

/// A small set of named values that travels with a chunk (read id, calibration, time stamps). Built once, then shared
/// and immutable. Linear search: it is for a dozen entries.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries);

  /// Sets or replaces one value; only while building.
  void set(std::string name, AttributeValue value);

  /// Null when there is no such attribute.
  const AttributeValue* find(std::string_view name) const;
  /// Typed access; nothing when absent or of another type. number() converts an integer to double.
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<std::string_view> text(std::string_view name) const;

  const std::vector<std::pair<std::string, AttributeValue>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<std::string, AttributeValue>> entries_;
};

}  // namespace millrace
