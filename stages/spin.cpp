#include "stages/spin.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "pipeline/core/clock.h"
#include "stages/burn_cpu.h"
#include "stages/counter_random.h"

namespace millrace {
namespace {

/// Longest that a chunk may take, in means: a run must have an end.
constexpr double kLongest = 20;
constexpr double kHeavyExponent = 2.5;

}  // namespace

Spin::Spin(const Options& options)
    : busy_(options.get<Duration>("busy", Duration(0), "CPU time to burn for each chunk")),
      sleep_(options.get<Duration>("sleep", Duration(0), "time to sleep for each chunk")),
      jitter_(options.get<double>("jitter", 0, "spread of busy and sleep, as a fraction of them")),
      burst_every_(options.get<std::uint64_t>("burst_every", 0, "every so many chunks one takes longer; 0 = none")),
      burst_busy_(options.get<Duration>("burst_busy", Duration(0), "CPU time that such a chunk takes more")),
      burst_sleep_(options.get<Duration>("burst_sleep", Duration(0), "time that such a chunk sleeps more")),
      seed_(options.get<std::uint64_t>("seed", 1, "the same seed gives the same jitter")) {
  const auto spread = options.get<std::string>("spread", "even", "even (by jitter), exponential or heavy");
  if (spread == "exponential") {
    spread_ = Spread::exponential;
  } else if (spread == "heavy") {
    spread_ = Spread::heavy;
  } else if (spread != "even") {
    throw options.error_at("spread", "'spread' must be even, exponential or heavy, not '" + spread + "'");
  }
  if (spread_ != Spread::even && jitter_ != 0) throw options.error_at("jitter", "'jitter' goes with spread = even");
  if (jitter_ < 0 || jitter_ > 1) throw options.error_at("jitter", "'jitter' must be between 0 and 1");
  for (const char* const key : {"burst_busy", "burst_sleep"}) {
    if (burst_every_ == 0 && options.has(key)) {
      throw options.error_at(key, "'" + std::string(key) + "' needs 'burst_every'");
    }
  }
}

std::optional<Chunk> Spin::process(Chunk chunk) {
  const Service wanted = service(chunk.sequence());
  const std::stop_token& stop = call_context().stop;
  burn_cpu(wanted.busy, stop);
  if (wanted.sleep.count() > 0) {
    Clock& clock = monotonic_clock();
    clock.sleep_until(clock.now_ns() + wanted.sleep.count(), stop);
  }
  return chunk;
}

double Spin::factor(std::uint64_t sequence) const {
  const double drawn = uniform(counter_random(seed_, 0, sequence));  // below 1
  switch (spread_) {
    case Spread::exponential:
      return std::min(-std::log1p(-drawn), kLongest);
    case Spread::heavy: {
      const double smallest = (kHeavyExponent - 1) / kHeavyExponent;  // for a mean of 1
      return std::min(smallest * std::pow(1 - drawn, -1 / kHeavyExponent), kLongest);
    }
    case Spread::even:
      break;
  }
  return 1 + jitter_ * (2 * drawn - 1);
}

Spin::Service Spin::service(std::uint64_t sequence) const {
  Service service{busy_, sleep_};
  if (jitter_ != 0 || spread_ != Spread::even) {
    const double times = factor(sequence);
    service.busy = Duration(std::llround(static_cast<double>(busy_.count()) * times));
    service.sleep = Duration(std::llround(static_cast<double>(sleep_.count()) * times));
  }
  if (burst_every_ != 0 && sequence % burst_every_ == burst_every_ - 1) {
    service.busy += burst_busy_;
    service.sleep += burst_sleep_;
  }
  return service;
}

}  // namespace millrace
