#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace millrace {

/// Cores that any number of computing threads share evenly, on a clock that is moved by hand: while n threads compute
/// on c cores, each gets min(1, c/n) of one. Integer times in, integer times out; deterministic, threads that end at
/// the same time do so in the order in which they began.
class SharedCores {
 public:
  explicit SharedCores(std::uint32_t cores) : cores_(std::max(1U, cores)) {}

  /// Thread `who` computes from `now_ns` on until it has had `cpu_ns`.
  void begin(std::size_t who, std::int64_t cpu_ns, std::int64_t now_ns) {
    move_to(now_ns);
    computing_.push_back({work_done_ + static_cast<double>(cpu_ns), next_++, who});
    std::push_heap(computing_.begin(), computing_.end(), later);
  }
  /// When the first of them ends, if nobody else begins before; nothing when none computes.
  std::optional<std::int64_t> next_end() const {
    if (computing_.empty()) return std::nullopt;
    const double left = std::max(computing_.front().ends_at - work_done_, 0.0);
    // Rounded up but for what the arithmetic itself may add, so that nobody ends before it had its time.
    return now_ns_ + static_cast<std::int64_t>(left / speed() + 1 - kRounding);
  }
  /// Takes the one that next_end() is about, at that time.
  std::size_t end_first() {
    const std::int64_t now_ns = *next_end();
    move_to(now_ns);
    work_done_ = std::max(work_done_, computing_.front().ends_at);
    std::pop_heap(computing_.begin(), computing_.end(), later);
    const std::size_t who = computing_.back().who;
    computing_.pop_back();
    return who;
  }

 private:
  static constexpr double kRounding = 1e-4;
  struct Thread {
    double ends_at = 0;  ///< in work_done_
    std::uint64_t order = 0;
    std::size_t who = 0;
  };
  static bool later(const Thread& a, const Thread& b) {
    return a.ends_at > b.ends_at || (a.ends_at == b.ends_at && a.order > b.order);
  }
  double speed() const {
    const std::size_t threads = computing_.size();
    return threads <= cores_ ? 1.0 : static_cast<double>(cores_) / static_cast<double>(threads);
  }
  void move_to(std::int64_t now_ns) {
    work_done_ += static_cast<double>(now_ns - now_ns_) * speed();
    now_ns_ = now_ns;
  }

  std::uint32_t cores_;
  std::vector<Thread> computing_;  // a heap
  double work_done_ = 0;           // CPU time that a thread that computes all along would have had
  std::int64_t now_ns_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace millrace
