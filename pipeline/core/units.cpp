#include "pipeline/core/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace millrace {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 9> kByteUnits{{{"B", 1},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"KiB", 1024.0},
                                          {"MiB", 1024.0 * 1024},
                                          {"GiB", 1024.0 * 1024 * 1024},
                                          {"TiB", 1024.0 * 1024 * 1024 * 1024}}};
constexpr std::array<Unit, 6> kTimeUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};

std::optional<std::uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (failure != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view name(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const auto& unit : units) {
    if (unit.name != name) continue;
    const double value = std::round(number * unit.factor);
    constexpr double kLimit = 9.2e18;
    if (!(value < kLimit)) return std::nullopt;
    return static_cast<std::uint64_t>(value);
  }
  return std::nullopt;
}

std::string three_digits(double value, const char* unit) {
  std::array<char, 64> text{};
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const int length = std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, unit);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto value = parse(text, kByteUnits);
  return value ? std::optional(Bytes{*value}) : std::nullopt;
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto value = parse(text, kTimeUnits);
  return value ? std::optional(Duration(static_cast<std::int64_t>(*value))) : std::nullopt;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 6> kNames{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t i = 0;
  while (value >= 1023.995 && i + 1 < kNames.size()) {
    value /= 1024;
    ++i;
  }
  return three_digits(value, kNames.at(i));
}

std::string format_duration_ns(std::int64_t ns) {
  const auto value = static_cast<double>(ns);
  const double size = std::abs(value);
  if (size < 1e3) return std::to_string(ns) + " ns";
  if (size < 999.5e3) return three_digits(value / 1e3, "us");
  if (size < 999.5e6) return three_digits(value / 1e6, "ms");
  return three_digits(value / 1e9, "s");
}

}  // namespace millrace
