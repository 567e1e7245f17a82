#pragma once

#include <malloc.h>

#include <cstddef>

namespace millrace::test {

/// Bytes that this process has from malloc now, C libraries included. Always 0 under a sanitizer, which has an
/// allocator of its own.
inline std::size_t heap_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace millrace::test
