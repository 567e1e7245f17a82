#include "io/drop_plan.h"

#include <algorithm>

namespace millrace::io {

std::optional<Extent> DropPlan::passed(Extent extent) {
  const std::uint64_t end = extent.offset + extent.length;
  if (end <= read_to_) return std::nullopt;
  std::optional<Extent> before;
  if (extent.offset > read_to_ && extent.offset - read_to_ > kStepBytes) {
    before = rest();
    dropped_to_ = std::max(dropped_to_, extent.offset / kStepBytes * kStepBytes);
  }
  read_to_ = end;
  if (before) return before;
  // A file that is read to its end has no folio there that is still wanted.
  return end >= file_bytes_ ? rest() : drop_to(end / kStepBytes * kStepBytes);
}

std::optional<Extent> DropPlan::rest() {
  return drop_to(std::min(file_bytes_, (read_to_ + kStepBytes - 1) / kStepBytes * kStepBytes));
}

std::optional<Extent> DropPlan::drop_to(std::uint64_t end) {
  if (end <= dropped_to_) return std::nullopt;
  const Extent range{dropped_to_, end - dropped_to_};
  dropped_to_ = end;
  return range;
}

}  // namespace millrace::io
