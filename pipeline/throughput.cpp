#include "pipeline/throughput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pipeline/core/units.h"

namespace millrace {
namespace {

/// A stored report may claim any count.
void add(std::uint64_t& sum, std::uint64_t more) {
  sum = more > std::numeric_limits<std::uint64_t>::max() - sum ? std::numeric_limits<std::uint64_t>::max() : sum + more;
}

/// Rates above this are no rates; they would not fit into the integers that are printed.
constexpr double kPrintable = 9e18;

}  // namespace

Delivered delivered(const RunReport& report) {
  Delivered sum;
  for (const auto& stage : report.stages) {
    if (stage.role != Role::source) continue;
    add(sum.bytes, stage.bytes_out);
    add(sum.chunks, stage.chunks_out);
  }
  return sum;
}

Delivered delivered(const RunReport& report, const Sample& sample) {
  Delivered sum;
  for (std::size_t i = 0; i < std::min(report.stages.size(), sample.stages.size()); ++i) {
    if (report.stages[i].role != Role::source) continue;
    add(sum.bytes, sample.stages[i].bytes_out);
    add(sum.chunks, sample.stages[i].chunks_out);
  }
  return sum;
}

double rate_of(const RunReport& report) {
  if (report.wall_ns <= 0) return 0;
  return static_cast<double>(delivered(report).units()) * 1e9 / static_cast<double>(report.wall_ns);
}

std::string format_rate(double per_second, bool counts_bytes) {
  const double value = std::isfinite(per_second) ? std::clamp(per_second, 0.0, kPrintable) : 0;
  if (counts_bytes) return format_bytes(static_cast<std::uint64_t>(value)) + "/s";
  return value >= 99.95 ? fmt::format("{:.0f} chunks/s", value) : fmt::format("{:.3g} chunks/s", value);
}

}  // namespace millrace
