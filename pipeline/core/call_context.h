#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "pipeline/core/buffer.h"

namespace millrace {

/// A page of a mapped file that was touched and could not be fetched: the file shrank, or its device failed. Zeros were
/// put in its place.
struct LostPage {
  std::array<char, 512> path{};  ///< of the file, cut when longer; ends with NUL
  std::uint64_t offset = 0;      ///< of the page, in the file
};

/// What happened inside one call of a stage that the stage itself does not report. Added up by the core (copies) and
/// the io layer (I/O), read by the engine after the call.
struct CallTally {
  std::int64_t io_wait_ns = 0;     ///< wall time inside timed I/O calls minus the CPU time used there
  std::uint64_t copied_bytes = 0;  ///< bytes the framework had to copy because a buffer was shared
  /// The call worked on zeros where data should be: its results are void, and the engine fails the run with this. Set
  /// by a signal handler on the thread of the call; the record lives for ever.
  const LostPage* lost_page = nullptr;
};

/// What the engine lends to the call that runs on this thread. Outside a run: the heap and a token never stopped.
struct CallContext {
  Lender* lender = nullptr;  ///< memory of the output link
  std::stop_token stop;      ///< requested when the run must end now
  CallTally tally;
};

/// The context of the calling thread; never null-like: loans fall back to heap_lender().
CallContext& call_context();

/// A unique buffer of `bytes` bytes from the output link of the stage that runs on this thread.
Buffer loan(std::size_t bytes);

}  // namespace millrace
