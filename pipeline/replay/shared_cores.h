#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace millrace {

/// Cores that any number of computing threads share as under a fair scheduler, on a clock that is moved by hand. A
/// thread that begins takes a free core, or that of the one which has had the most, if that has had kGranuleNs since it
/// began: who slept goes before who computes all along. Otherwise it waits for its turn. Nobody keeps a core for
/// longer than kSliceNs while others wait. Integer times; deterministic.
class SharedCores {
 public:
  /// As Linux has them on a machine of a few cores.
  static constexpr std::int64_t kGranuleNs = 1'000'000;
  static constexpr std::int64_t kSliceNs = 3'000'000;

  explicit SharedCores(std::uint32_t cores) : cores_(std::max(1U, cores)) {}

  /// Thread `who` computes from `now_ns` on until it has had `cpu_ns`.
  void begin(std::size_t who, std::int64_t cpu_ns, std::int64_t now_ns) {
    Thread thread{who, cpu_ns, 0, now_ns, 0};
    if (running_.size() < cores_) {
      run(thread, now_ns);
      return;
    }
    const auto had = [now_ns](const Thread& one) { return one.had_ns + (now_ns - one.since_ns); };
    const auto most = std::max_element(running_.begin(), running_.end(),
                                       [&had](const Thread& a, const Thread& b) { return had(a) < had(b); });
    if (had(*most) < kGranuleNs) {
      waiting_.push_back(thread);
      return;
    }
    waiting_.push_back(stopped(*most, now_ns));
    running_.erase(most);
    run(thread, now_ns);
  }
  /// When something next happens on the cores, if nobody else begins before; nothing when none computes.
  std::optional<std::int64_t> next_ns() const {
    if (running_.empty()) return std::nullopt;
    return next()->until_ns;
  }
  /// Makes it happen: the thread that has ended, or nothing when a core only went to the next one.
  std::optional<std::size_t> happen() {
    const auto at = next();
    const std::int64_t now_ns = at->until_ns;
    const Thread thread = stopped(*at, now_ns);
    running_.erase(at);
    if (thread.left_ns != 0) waiting_.push_back(thread);
    if (!waiting_.empty()) {
      const Thread first = waiting_.front();
      waiting_.pop_front();
      run(first, now_ns);
    }
    if (thread.left_ns != 0) return std::nullopt;
    return thread.who;
  }

 private:
  struct Thread {
    std::size_t who = 0;
    std::int64_t left_ns = 0;   ///< to compute, at since_ns
    std::int64_t had_ns = 0;    ///< computed since it began, at since_ns
    std::int64_t since_ns = 0;  ///< when it got its core
    std::int64_t until_ns = 0;  ///< end of its slice
  };

  /// Of those that run, the first to come to the end of its slice; of equals the one that runs longest.
  std::vector<Thread>::const_iterator next() const {
    return std::min_element(running_.begin(), running_.end(),
                            [](const Thread& a, const Thread& b) { return a.until_ns < b.until_ns; });
  }
  void run(Thread thread, std::int64_t now_ns) {
    thread.since_ns = now_ns;
    thread.until_ns = now_ns + std::min(thread.left_ns, kSliceNs);
    running_.push_back(thread);
  }
  static Thread stopped(Thread thread, std::int64_t now_ns) {
    const std::int64_t ran_ns = now_ns - thread.since_ns;
    thread.left_ns -= ran_ns;
    thread.had_ns += ran_ns;
    return thread;
  }

  std::uint32_t cores_;
  std::vector<Thread> running_;  // in the order in which they got their cores
  std::deque<Thread> waiting_;   // for a core, the first first
};

}  // namespace millrace
