#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "pipeline/core/call_context.h"

namespace millrace::io {

/// Keeps a process alive that touches a page of a mapped file which cannot be fetched, because the file shrank or its
/// device failed (SIGBUS): while it lives, such pages of its memory become zeros, and the thread that touched one has a
/// LostPage of that memory in call_context().tally afterwards, unless it had one already. So whoever works on the
/// memory finds out after the work, not inside it; the engine does for stages.
///
/// The first one installs the signal handler of the process; addresses that nobody guards go to the handler that was
/// there before. Registering takes no lock that the handler could wait for: places of the list are used again, never
/// freed. Works on any thread, under the sanitizers too.
class SigbusGuard {
 public:
  struct Place;

  SigbusGuard() = default;
  /// `memory`: whole pages, mapped already; to be unmapped only after the guard is gone. They show `path` (for the
  /// record) from `file_offset` on. `writable`: zeros that take their place can be written, which changes no file.
  SigbusGuard(std::span<const std::byte> memory, const std::filesystem::path& path, std::uint64_t file_offset,
              bool writable);
  SigbusGuard(SigbusGuard&& other) noexcept;
  SigbusGuard& operator=(SigbusGuard&& other) noexcept;
  ~SigbusGuard() { release(); }

  /// A page of the memory that was lost, by whatever thread: it shows zeros for ever. Null when none was.
  const LostPage* lost_page() const;

 private:
  void release() noexcept;

  Place* place_ = nullptr;
};

/// Reads one byte of every page of `memory`, so that all of them are there or lost.
void touch_pages(std::span<const std::byte> memory);

}  // namespace millrace::io
