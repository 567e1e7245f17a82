#include "pipeline/cache_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "pipeline/core/units.h"

namespace millrace {
namespace {

/// The input counts as cold up to this fraction in the page cache.
constexpr double kColdFraction = 0.01;
/// A run counts as served by the device from this share of its bytes on; the rest may be holes of a sparse file or
/// pages that came with the index.
constexpr double kServedByDevice = 0.95;
/// From this fraction in the page cache on, a run says nothing about the device.
constexpr double kMostlyWarm = 0.5;

/// Bytes of files that the sources read; all of the inputs when no source counts them.
std::uint64_t bytes_read(const RunReport& report) {
  std::uint64_t bytes = 0;
  for (const auto& stage : report.stages) {
    if (stage.role == Role::source && stage.io) bytes += stage.io->bytes;
  }
  return bytes == 0 ? report.cache.input_bytes : bytes;
}

bool served_by_device(const RunReport& report) {
  return report.cache.device_bytes >= 0 &&
         static_cast<double>(report.cache.device_bytes) >= kServedByDevice * static_cast<double>(bytes_read(report));
}

std::string cached(const RunReport& report) {
  return fmt::format("{:.1f} % of the input was cached", report.cache.resident_before_fraction * 100);
}

std::string unverified(const RunReport& report) {
  if (report.cache.device_bytes < 0) return fmt::format("cold, unverified ({})", cached(report));
  return fmt::format("cold, unverified ({}; the device delivered {})", cached(report),
                     format_bytes(static_cast<std::uint64_t>(report.cache.device_bytes)));
}

}  // namespace

std::string name_of(CacheState state) {
  switch (state) {
    case CacheState::cold:
      return "cold";
    case CacheState::unverified:
      return "cold_unverified";
    case CacheState::warm:
      return "warm";
    case CacheState::bypassed:
      return "bypassed";
    case CacheState::memory:
      return "memory";
    case CacheState::unknown:
      break;
  }
  return "unknown";
}

CacheState cache_state(const RunReport& report) {
  const CacheReport& cache = report.cache;
  if (cache.in_memory) return CacheState::memory;
  if (!(cache.resident_before_fraction >= 0)) return CacheState::unknown;
  const bool served = served_by_device(report);
  if (cache.resident_before_fraction <= kColdFraction) return served ? CacheState::cold : CacheState::unverified;
  return served ? CacheState::bypassed : CacheState::warm;
}

std::string cache_label(const RunReport& report) {
  if (report.cache.input_bytes == 0) return "";
  const double before = report.cache.resident_before_fraction;
  switch (cache_state(report)) {
    case CacheState::cold:
      return fmt::format("cold ({})", cached(report));
    case CacheState::unverified:
      return unverified(report);
    case CacheState::warm:
      return fmt::format("{:.0f} % warm: this run says {} about your disk", std::min(before, 1.0) * 100,
                         before >= kMostlyWarm ? "nothing" : "little");
    case CacheState::bypassed:
      return fmt::format("{:.0f} % warm, but read from the device", std::min(before, 1.0) * 100);
    case CacheState::memory:
      return "input in memory: this run says nothing about a disk";
    case CacheState::unknown:
      break;
  }
  return "cache state of the input unknown";
}

}  // namespace millrace
