#include "io/alignment.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>

#include "pipeline/core/call_context.h"

namespace millrace::io {

Alignment direct_alignment(const FileDescriptor& file) {
  Alignment alignment;
  struct statx status {};
  if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0) return alignment;
  // Zero means that this file is never read or written directly.
  if ((status.stx_mask & STATX_DIOALIGN) == 0 || status.stx_dio_offset_align == 0) return alignment;
  alignment.offset = std::bit_ceil(std::max<std::uint64_t>(alignment.offset, status.stx_dio_offset_align));
  alignment.memory = std::bit_ceil(std::max<std::uint64_t>(1, status.stx_dio_mem_align));
  alignment.promised = true;
  return alignment;
}

Buffer loan_aligned(std::size_t bytes, std::uint64_t alignment) {
  // The room to move is asked for always: what a lender gives is known only when it has given it, and the largest loan
  // must not depend on it.
  Buffer buffer = loan(bytes + static_cast<std::size_t>(alignment) - 1);
  const auto place = reinterpret_cast<std::uintptr_t>(buffer.data());
  buffer.narrow(round_up(place, alignment) - place, bytes);
  return buffer;
}

bool set_direct(const FileDescriptor& file, bool on) {
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0) return false;
  const int wanted = on ? flags | O_DIRECT : flags & ~O_DIRECT;
  return wanted == flags || ::fcntl(file.get(), F_SETFL, wanted) == 0;
}

}  // namespace millrace::io
