#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/core/error.h"

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

/// What came of one of several calls.
struct IsolatedAnswer {
  std::vector<std::byte> bytes;
  std::optional<Error> error;  ///< when set, there are no bytes
};

/// The same for `work(0)`, `work(1)` ... one per entry of `limits`, spread over `children` processes, each of which
/// does its share one call after the other: a fork costs more than a small call. A call that brings its child down has
/// an Error for an answer, and another child goes on behind it. Calls of one child see what its earlier calls left in
/// memory.
std::vector<IsolatedAnswer> call_isolated_each(const std::function<std::vector<std::byte>(std::size_t)>& work,
                                               std::span<const IsolationLimits> limits, std::size_t children);

}  // namespace millrace::io
