#pragma once

#include <string>

#include "pipeline/report.h"

namespace millrace {

/// Columns of the text report.
inline constexpr std::size_t kReportColumns = 100;

/// The table of stages with its header line. A name too long for its column has a line of its own above its figures.
std::string stage_table(const RunReport& report);

/// "4096", "12.3 M": at most six characters.
std::string short_count(std::uint64_t count);
/// Two significant digits with the unit that fits, at most six characters: "830 ns", "3.0 ms", "12 s".
std::string short_duration(std::int64_t ns);
/// "98.6%", "100%": at most five characters.
std::string share_cell(std::int64_t part_ns, double whole_ns);

}  // namespace millrace
