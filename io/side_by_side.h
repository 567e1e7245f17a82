#pragma once

#include <cstddef>
#include <functional>

namespace millrace::io {

/// Calls work(0) ... work(count - 1), as many at a time as this process has cores, and returns when all are done. An
/// exception of a call is thrown here, then; of several, that of the lowest number.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace millrace::io
