#include "io/advice_plan.h"

#include <algorithm>

namespace millrace::io {

AdvicePlan::AdvicePlan(std::uint64_t window_bytes, std::uint64_t step_bytes, std::uint64_t page_bytes)
    : page_(page_bytes), window_(page_up(window_bytes)), step_(std::min(page_up(step_bytes), window_)) {}

void AdvicePlan::announce(Extent extent) {
  std::uint64_t begin = extent.offset / page_ * page_;
  const std::uint64_t end = page_up(extent.offset + extent.length);
  const bool follows = begin >= last_.begin && begin <= last_.end;
  if (follows) begin = std::min(last_.end, end);  // pages shared with what came before
  if (extent.length > 0 && begin < end) {
    if (follows && !runs_.empty()) {
      runs_.back().end = end;
    } else {
      runs_.push_back({begin, end});
    }
    last_ = follows ? Run{last_.begin, end} : Run{begin, end};
    announced_ += end - begin;
  }
  extents_.push_back({extent, announced_});
}

void AdvicePlan::begin(Extent extent) {
  const auto found = std::find_if(extents_.begin(), extents_.end(), [&extent](const Announced& one) {
    return one.extent.offset == extent.offset && one.extent.length == extent.length;
  });
  if (found != extents_.end()) skip_to(found->end);
}

void AdvicePlan::reach(Extent extent) {
  const auto found = std::find_if(extents_.begin(), extents_.end(), [&extent](const Announced& one) {
    return one.extent.offset == extent.offset && one.extent.length == extent.length;
  });
  if (found == extents_.end()) return;
  skip_to(found->end);
  reached_ = found->end;
  extents_.erase(extents_.begin(), found + 1);
}

/// Leaves out what lies before `place` and was not asked for.
void AdvicePlan::skip_to(std::uint64_t place) {
  while (advised_ < place) {
    Run& run = runs_.front();
    const std::uint64_t bytes = std::min(place - advised_, run.length());
    run.begin += bytes;
    advised_ += bytes;
    if (run.length() == 0) runs_.pop_front();
  }
}

std::optional<Extent> AdvicePlan::next() {
  if (runs_.empty()) return std::nullopt;
  Run& run = runs_.front();
  const std::uint64_t bytes = std::min(step_, run.length());
  const std::uint64_t ahead = advised_ - std::min(advised_, reached_);
  if (ahead + bytes > window_) return std::nullopt;
  const bool may_grow = bytes < step_ && runs_.size() == 1;
  if (may_grow && ahead >= window_ / 2) return std::nullopt;
  const Extent step{run.begin, bytes};
  run.begin += bytes;
  advised_ += bytes;
  if (run.length() == 0) runs_.pop_front();
  return step;
}

}  // namespace millrace::io
