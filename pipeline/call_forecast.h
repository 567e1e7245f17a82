#pragma once

#include <algorithm>
#include <cstdint>

#include "pipeline/link.h"

namespace millrace {

/// How long the next call of a stage will take, as far as its past calls tell: the longest recent one, fading from turn
/// to turn, because one long call among short ones must not hold up a batch around it. Used under the graph's lock.
class CallForecast {
 public:
  /// A turn of `calls` calls that took `wall_ns` in all.
  void note(std::int64_t wall_ns, std::uint64_t calls) {
    const auto call_ns = std::max<std::int64_t>(wall_ns / static_cast<std::int64_t>(calls), 1);
    expected_ns_ = std::max(call_ns, expected_ns_ - expected_ns_ / kFading);
  }
  /// 0 = none ended yet.
  std::int64_t expected_ns() const { return expected_ns_; }
  /// How many calls the next turn should make, so that it lasts long enough to hide its own cost.
  std::uint32_t batch() const {
    if (expected_ns_ == 0) return 1;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(kTurnNs / expected_ns_, 1, kMaxBatch));
  }

 private:
  /// A turn should last about this long when its calls are shorter: enough to hide the cost of taking the lock (0.1 us)
  /// and of passing cache lines between cores, less than one wake-up of a sleeping thread (6 us) in added latency.
  static constexpr std::int64_t kTurnNs = 4'000;
  /// How a past long call counts: its memory fades by this fraction per turn.
  static constexpr std::int64_t kFading = 16;

  std::int64_t expected_ns_ = 0;
};

}  // namespace millrace
