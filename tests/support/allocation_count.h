#pragma once

#include <cstdint>

namespace millrace::test {

/// Calls of operator new on this thread so far. A program that calls this has every operator new replaced by one that
/// counts (allocation_count.cpp); what C libraries take from malloc is not counted. Always 0 under a sanitizer: those
/// bring an operator new of their own, which finds misuse and must not be replaced.
std::uint64_t allocations_of_this_thread();

}  // namespace millrace::test
