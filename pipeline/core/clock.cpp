#include "pipeline/core/clock.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace millrace {
namespace {

__extension__ using Wide = unsigned __int128;  // 64 x 64 bits without overflow

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kLongestWaitNs = 3600 * kNsPerSecond;

std::int64_t read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return t.tv_sec * kNsPerSecond + t.tv_nsec;
}

/// Kept open per thread: open + read + close costs five times a read.
class SchedstatFile {
 public:
  SchedstatFile() : descriptor_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  SchedstatFile(const SchedstatFile&) = delete;
  SchedstatFile& operator=(const SchedstatFile&) = delete;
  ~SchedstatFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Fields: ns run, ns waited in the run queue, slices (Documentation/scheduler/sched-stats.rst).
  std::int64_t run_delay_ns() const {
    if (descriptor_ < 0) return 0;
    std::array<char, 96> text{};
    const ssize_t got = ::pread(descriptor_, text.data(), text.size(), 0);
    if (got <= 0) return 0;
    const char* const end = text.data() + got;
    const char* const space = std::find(static_cast<const char*>(text.data()), end, ' ');
    std::int64_t delay = 0;
    if (space != end) std::from_chars(space + 1, end, delay);
    return delay;
  }

 private:
  int descriptor_;
};

#if defined(__x86_64__)
bool time_stamp_counter_is_trustworthy() {
  std::ifstream source("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return (source >> name) && name == "tsc";  // the kernel itself trusts it on all cores
}
#endif

class MonotonicClock final : public Clock {
 public:
  MonotonicClock() {
#if defined(__x86_64__)
    if (time_stamp_counter_is_trustworthy()) calibrate();
#endif
  }

  std::int64_t now_ns() override {
#if defined(__x86_64__)
    if (ns_per_tick_q32_ != 0) {
      const std::uint64_t ticks = __rdtsc() - tick_origin_;
      return ns_origin_ + static_cast<std::int64_t>((static_cast<Wide>(ticks) * ns_per_tick_q32_) >> 32U);
    }
#endif
    return read_clock(CLOCK_MONOTONIC);
  }

  ThreadUsage thread_usage() override {
    thread_local const SchedstatFile schedstat;
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {thread_cpu_ns(), schedstat.run_delay_ns(), usage.ru_majflt, usage.ru_minflt};
  }

  std::int64_t thread_cpu_ns() override { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

  bool sleep_until(std::int64_t deadline_ns, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    for (;;) {
      const std::int64_t left = deadline_ns - now_ns();
      if (left <= 0) return true;
      if (stop.stop_requested()) return false;
      // In pieces: the library adds the time to its own clock's, which must not overflow.
      const auto piece = std::min(left, kLongestWaitNs);
      woken.wait_for(lock, stop, std::chrono::nanoseconds(piece), [&stop] { return stop.stop_requested(); });
    }
  }

 private:
#if defined(__x86_64__)
  void calibrate() {
    // 10 ms against CLOCK_MONOTONIC: a relative error of about 1e-5, far below the 0.5 % that closure allows.
    const std::int64_t ns0 = read_clock(CLOCK_MONOTONIC);
    const std::uint64_t t0 = __rdtsc();
    timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
    const std::int64_t ns1 = read_clock(CLOCK_MONOTONIC);
    const std::uint64_t t1 = __rdtsc();
    tick_origin_ = t0;
    ns_origin_ = ns0;
    ns_per_tick_q32_ = static_cast<std::uint64_t>((static_cast<Wide>(ns1 - ns0) << 32U) / (t1 - t0));
  }

  std::uint64_t tick_origin_ = 0;
  std::uint64_t ns_per_tick_q32_ = 0;  // nanoseconds per tick, 32 fractional bits; 0 = use the system call
  std::int64_t ns_origin_ = 0;
#endif
};

}  // namespace

Clock& monotonic_clock() {
  static auto* const clock = new MonotonicClock;  // threads may outlive main's statics
  return *clock;
}

bool ManualClock::sleep_until(std::int64_t deadline_ns, const std::stop_token& stop) {
  if (stop.stop_requested()) return false;
  now_ns_ = std::max(now_ns_.load(), deadline_ns);
  return true;
}

}  // namespace millrace
