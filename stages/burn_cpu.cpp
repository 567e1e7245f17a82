#include "stages/burn_cpu.h"

#include <algorithm>
#include <cstdint>

#include "pipeline/core/clock.h"

namespace millrace {
namespace {

constexpr std::int64_t kShortNs = 50'000;
constexpr std::int64_t kSliceNs = 1'000'000;  // between two looks at the stop token

void spin_until(Clock& clock, std::int64_t deadline_ns) {
  while (clock.now_ns() < deadline_ns) {
  }
}

}  // namespace

void burn_cpu(Duration amount, const std::stop_token& stop) {
  if (amount.count() <= 0) return;
  Clock& clock = monotonic_clock();
  if (amount.count() < kShortNs) {
    spin_until(clock, clock.now_ns() + amount.count());
    return;
  }
  const std::int64_t end_ns = clock.thread_cpu_ns() + amount.count();
  for (std::int64_t left = amount.count(); left > 0 && !stop.stop_requested(); left = end_ns - clock.thread_cpu_ns()) {
    spin_until(clock, clock.now_ns() + std::min(left, kSliceNs));
  }
}

}  // namespace millrace
