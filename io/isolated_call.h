#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace millrace::io {

/// What a call in another process may use up.
struct IsolationLimits {
  std::uint64_t cpu_seconds = 120;
  std::uint64_t memory_bytes = 2ULL << 30;  ///< beyond what this process uses already; not enforced under sanitizers
};

/// Runs `work` in a forked child of this process and returns what it returned. An Error thrown there is thrown here.
/// When the child crashes or runs out of its limits, an Error says so and this process goes on: for
/// libraries that damaged input can bring down. The child has only the calling thread; `work` must not wait for locks
/// that others might hold at this moment, and what it changes in memory is lost.
std::vector<std::byte> call_isolated(const std::function<std::vector<std::byte>()>& work,
                                     const IsolationLimits& limits = {});

}  // namespace millrace::io
