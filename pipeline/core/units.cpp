#include "pipeline/core/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace millrace {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 9> kByteUnits{{{"B", 1},
                                          {"kB", 1'000},
                                          {"KiB", 1ULL << 10U},
                                          {"MB", 1'000'000},
                                          {"MiB", 1ULL << 20U},
                                          {"GB", 1'000'000'000},
                                          {"GiB", 1ULL << 30U},
                                          {"TB", 1'000'000'000'000},
                                          {"TiB", 1ULL << 40U}}};
constexpr std::array<Unit, 6> kTimeUnits{{{"ns", 1},
                                          {"us", 1'000},
                                          {"ms", 1'000'000},
                                          {"s", 1'000'000'000},
                                          {"min", 60'000'000'000},
                                          {"h", 3'600'000'000'000}}};
constexpr std::uint64_t kLimit = 1ULL << 63U;

/// The unit that follows a number, spaces before it allowed; nothing when it is no unit.
std::optional<std::uint64_t> factor_of(std::string_view name, std::span<const Unit> units) {
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const auto& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  const char* const end = text.data() + text.size();
  const auto rest_of = [end](const char* from) { return std::string_view(from, static_cast<std::size_t>(end - from)); };

  std::uint64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);
  if (integer.ec == std::errc() && !rest_of(integer.ptr).starts_with('.')) {
    const auto factor = factor_of(rest_of(integer.ptr), units);
    return factor && whole < kLimit / *factor ? std::optional(whole * *factor) : std::nullopt;
  }

  double number = 0;
  const auto fraction = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (fraction.ec != std::errc() || !(number >= 0)) return std::nullopt;
  const auto factor = factor_of(rest_of(fraction.ptr), units);
  if (!factor) return std::nullopt;
  const double value = std::round(number * static_cast<double>(*factor));
  return value < static_cast<double>(kLimit) ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

std::string spell(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const auto& unit : units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  return std::to_string(value / best->factor) + " " + std::string(best->name);
}

std::string three_digits(double value, const char* unit) {
  std::array<char, 64> text{};
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
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
  while (value >= 1023.5 && i + 1 < kNames.size()) {
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

std::string spell_bytes(Bytes bytes) { return spell(bytes.count, kByteUnits); }

std::string spell_duration(Duration duration) {
  return spell(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)), kTimeUnits);
}

}  // namespace millrace
