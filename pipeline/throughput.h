#pragma once

#include <cstdint>
#include <string>

#include "pipeline/report.h"

namespace millrace {

/// What all sources together delivered.
struct Delivered {
  std::uint64_t bytes = 0;
  std::uint64_t chunks = 0;

  /// In bytes where there are any, else in chunks: what rates are made of.
  std::uint64_t units() const { return bytes > 0 ? bytes : chunks; }
  bool counts_bytes() const { return bytes > 0; }
};

/// In the whole run; until `sample`, which has the stages of the report. Sums that overflow stay at the largest count.
Delivered delivered(const RunReport& report);
Delivered delivered(const RunReport& report, const Sample& sample);

/// Units per second of wall time; 0 when there was none.
double rate_of(const RunReport& report);

/// "661 MiB/s", "12.4 chunks/s".
std::string format_rate(double per_second, bool counts_bytes);

}  // namespace millrace
