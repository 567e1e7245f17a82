#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>

namespace millrace {

/// What the kernel knows of the calling thread, cumulative since its start.
struct ThreadUsage {
  std::int64_t cpu_ns = 0;  ///< CLOCK_THREAD_CPUTIME_ID
  std::int64_t run_delay_ns =
      0;  ///< runnable but not running: second field of /proc/thread-self/schedstat; 0 without it
  std::int64_t major_faults = 0;  ///< getrusage(RUSAGE_THREAD): pages that had to be asked for
  /// The same: pages that were there, or on their way. Linux counts the wait for a page that read-ahead has asked for
  /// already as one of these.
  std::int64_t minor_faults = 0;
};

/// Time, as the engine and the I/O decorators see it. Threads: all functions from any thread.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  /// Monotonic nanoseconds since an arbitrary origin.
  virtual std::int64_t now_ns() = 0;
  /// Usage of the calling thread. About 2 us of system calls: not for every short call.
  virtual ThreadUsage thread_usage() = 0;
  /// CPU nanoseconds of the calling thread only (0.5 us).
  virtual std::int64_t thread_cpu_ns() = 0;
  /// Sleeps until now_ns() >= deadline_ns or a stop is requested; true when the deadline was reached.
  virtual bool sleep_until(std::int64_t deadline_ns, const std::stop_token& stop) = 0;
};

/// The machine's clock; lives for ever. Reads the time stamp counter when the kernel calls it constant and
/// non-stop and it agrees with CLOCK_MONOTONIC at start-up, else CLOCK_MONOTONIC.
Clock& monotonic_clock();

/// A clock that moves only when told, for tests: sleep_until advances it at once.
class ManualClock final : public Clock {
 public:
  std::int64_t now_ns() override { return now_ns_.load(); }
  ThreadUsage thread_usage() override { return usage_; }
  std::int64_t thread_cpu_ns() override { return usage_.cpu_ns; }
  bool sleep_until(std::int64_t deadline_ns, const std::stop_token& stop) override;

  void advance_ns(std::int64_t ns) { now_ns_ += ns; }
  void set_usage(const ThreadUsage& usage) { usage_ = usage; }

 private:
  std::atomic<std::int64_t> now_ns_{0};
  ThreadUsage usage_;
};

}  // namespace millrace
