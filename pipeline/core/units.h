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
/// allowed, the space is optional. Nothing when it is none of these, negative, or above 2^63.
std::optional<Bytes> parse_bytes(std::string_view text);

/// "250 ms": ns us ms s min h. Nothing when it is none of these, negative, or above 2^63 ns.
std::optional<Duration> parse_duration(std::string_view text);

/// The shortest exact-to-three-digits form with a binary unit: "17 B", "4.00 MiB".
std::string format_bytes(std::uint64_t bytes);

/// Three significant digits with the unit that fits: "830 ns", "12.4 s".
std::string format_duration_ns(std::int64_t ns);

}  // namespace millrace
