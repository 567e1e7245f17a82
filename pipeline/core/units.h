#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// A number of bytes, as an option type of its own so that configs must give a unit.
struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// An option type for times; configs must give a unit.
using Duration = std::chrono::nanoseconds;

/// "4 MiB", "100 kB", "17 B": B, kB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024); a decimal fraction is
/// allowed, the space is optional; whole numbers are exact. Nothing when it is none of these, negative, or above 2^63.
std::optional<Bytes> parse_bytes(std::string_view text);

/// "250 ms": ns us ms s min h. Nothing when it is none of these, negative, or above 2^63 ns.
std::optional<Duration> parse_duration(std::string_view text);

/// The shortest exact-to-three-digits form with a binary unit: "17 B", "4.00 MiB".
std::string format_bytes(std::uint64_t bytes);

/// Three significant digits with the unit that fits: "830 ns", "12.4 s".
std::string format_duration_ns(std::int64_t ns);

/// Exact, as one would write it in a config, with the largest unit that leaves a whole number: "64 MiB", "100 kB",
/// "250 ms". parse_bytes and parse_duration give the same value back, up to 2^63.
std::string spell_bytes(Bytes bytes);
std::string spell_duration(Duration duration);

}  // namespace millrace
