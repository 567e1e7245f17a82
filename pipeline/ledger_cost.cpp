#include "pipeline/ledger_cost.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "pipeline/histogram.h"
#include "pipeline/wait_ledger.h"

namespace millrace {
namespace {

/// Median of some short loops: one preemption must not enter the result.
double median_ns(Clock& clock, int repeats, const std::function<void()>& step) {
  std::array<double, 9> times{};
  for (double& time : times) {
    const std::int64_t start_ns = clock.now_ns();
    for (int i = 0; i < repeats; ++i) step();
    time = static_cast<double>(clock.now_ns() - start_ns) / repeats;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

LedgerCost calibrate_ledger(Clock& clock, std::uint64_t calls, std::uint64_t changes, std::uint64_t samples,
                            std::int64_t busy_ns) {
  constexpr int kRepeats = 2000;
  constexpr int kSampleRepeats = 100;
  const auto histogram = std::make_unique<Histogram>();
  const double per_call_ns = median_ns(clock, kRepeats, [&] { histogram->record(clock.now_ns() & 0xffff); });

  // A stage in the middle of a line goes to and fro between working and starving.
  WaitLedger ledger({1, 1, 1, 1}, {{0, 1}, {1, 2}, {2, 3}}, 0);
  std::int64_t at_ns = 0;
  bool works = false;
  const double per_change_ns = median_ns(clock, kRepeats, [&] {
    works = !works;
    WaitLedger::State state;
    (works ? state.counts.busy : state.counts.starved) = 1;
    state.empty_link = works ? WaitLedger::kNone : 1;
    ledger.set(2, ++at_ns, state, 0);
  });
  std::int64_t seen = 0;
  const double per_sample_ns = median_ns(clock, kSampleRepeats, [&] { seen += clock.thread_usage().cpu_ns & 1; });

  LedgerCost cost;
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  const double total_ns =
      number(calls) * per_call_ns + number(changes) * per_change_ns + number(samples) * 2 * per_sample_ns;
  cost.ns_per_call =
      calls == 0 ? per_call_ns : (number(calls) * per_call_ns + number(changes) * per_change_ns) / number(calls);
  cost.ns_per_cpu_sample = per_sample_ns;
  cost.total_ns = static_cast<std::int64_t>(total_ns);
  cost.share = busy_ns == 0 ? 0 : total_ns / static_cast<double>(busy_ns);
  return cost;
}

}  // namespace millrace
