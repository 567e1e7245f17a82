#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "pipeline/core/buffer.h"

namespace millrace {

/// What happened inside one call of a stage that the stage itself does not report. Added up by the core (copies) and
/// the io layer (I/O), read by the engine after the call.
struct CallTally {
  std::int64_t io_wait_ns = 0;     ///< wall time inside timed I/O calls minus the CPU time used there
  std::uint64_t copied_bytes = 0;  ///< bytes the framework had to copy because a buffer was shared
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
