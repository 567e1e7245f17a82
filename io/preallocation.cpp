#include "io/preallocation.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace millrace::io {

void Preallocation::reserve(const FileDescriptor& file, std::uint64_t end) {
  if (step_bytes_ == 0 || end <= reserved_ || !refusal_.empty()) return;
  const std::uint64_t until = (end + step_bytes_ - 1) / step_bytes_ * step_bytes_;
  for (;;) {
    if (::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(reserved_),
                    static_cast<off_t>(until - reserved_)) == 0) {
      reserved_ = until;
      return;
    }
    if (errno == EINTR) continue;
    refusal_ = std::string("no preallocation: ") + std::strerror(errno);
    return;
  }
}

void Preallocation::cut(std::uint64_t size) { reserved_ = std::min(reserved_, size); }

}  // namespace millrace::io
