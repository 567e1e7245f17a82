#pragma once

#include <cstddef>
#include <cstdint>

#include "pipeline/core/buffer.h"

namespace millrace::io {

/// Memory of one link, taken from the system once and lent again and again. Every function from any thread; lend and
/// return take no lock and make no system call while at most `buffers` blocks are out.
///
/// Blocks start on 64-byte boundaries, those of 4 KiB and more on 4096-byte boundaries, as direct I/O wants. Blocks of
/// 2 MiB and more lie on transparent huge pages (when the kernel gives them): without, a direct copy took 1.8 times as
/// long (linux_io section 0, fact 13). The memory is reserved at once and becomes resident when it is first written.
///
/// What does not fit is served too, and counted by allocations(): a block more when all are out (kept for ever), and a
/// block of its own for a request above `buffer_bytes` (freed when it comes back).
class BufferPool final : public Lender {
 public:
  /// Error when there is no memory. `buffer_bytes` and `buffers` may be 0.
  BufferPool(std::uint64_t buffer_bytes, std::uint64_t buffers);
  /// Frees everything. When buffers are still out (an owner was left behind), all memory stays, so that they remain
  /// valid.
  ~BufferPool() override;

  Buffer lend(std::size_t bytes) override;
  /// Blocks name their pool's core as lender, so this is called for none.
  void take_back(BufferBlock& block) noexcept override;

  /// Blocks taken from the system so far, those of the constructor included.
  std::uint64_t allocations() const;

 private:
  class Core;
  Core* core_;
};

}  // namespace millrace::io
