#include "pipeline/core/attributes.h"

namespace millrace {

Attributes::Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

void Attributes::set(std::string name, AttributeValue value) {
  for (auto& entry : entries_) {
    if (entry.first == name) {
      entry.second = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const auto& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

std::optional<std::int64_t> Attributes::integer(std::string_view name) const {
  const auto* const value = find(name);
  const auto* const integer = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<double> Attributes::number(std::string_view name) const {
  const auto* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* const real = std::get_if<double>(value)) return *real;
  if (const auto* const integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<std::string_view> Attributes::text(std::string_view name) const {
  const auto* const value = find(name);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

}  // namespace millrace
