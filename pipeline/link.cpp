#include "pipeline/link.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

constexpr std::uint64_t kEndless = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Link::Link(const Bounds& bounds, std::uint32_t producer_slots, std::uint32_t consumer_slots, std::int64_t start_ns)
    : bounds_(bounds),
      // A lossy link takes chunks out at the producer's end, so both ends stay under the lock.
      push_outside_(producer_slots == 1 && bounds.when_full == WhenFull::block),
      pop_outside_(consumer_slots == 1 && bounds.when_full == WhenFull::block),
      // A batch may be in the ring before it is counted in and after it is counted out.
      ring_(bounds.chunks + 2UL * kMaxBatch),
      sizes_(bounds.chunks + 1),
      since_ns_(start_ns) {}

void Link::push(Chunk& chunk) {
  if (!ring_.push(Cell(chunk))) throw Error("internal: the ring of a link is smaller than its account");
}

void Link::pop(std::uint32_t count, std::vector<Chunk>& chunks) {
  const auto take = [&chunks](Cell& cell) { chunks.push_back(std::move(cell.chunk)); };
  for (; count != 0; --count) {
    if (ring_.consume_one(take) == 0) throw Error("internal: the ring of a link is emptier than its account");
  }
}

std::uint64_t Link::credits() const {
  if (lossy()) return kEndless;
  if (waiting_bytes_ + held_bytes_ >= bounds_.bytes) return 0;
  const std::uint64_t used = waiting_ + reserved_;
  return used < bounds_.chunks ? bounds_.chunks - used : 0;
}

bool Link::credit_in_turn() const {
  return lossy() || (waiting_bytes_ < bounds_.bytes && waiting_ + reserved_ < bounds_.chunks);
}

std::uint64_t Link::fitting(std::uint64_t chunk_bytes) const {
  const std::uint64_t used = waiting_bytes_ + held_bytes_;
  if (used >= bounds_.bytes || chunk_bytes == 0) return 1;
  return std::max<std::uint64_t>(1, (bounds_.bytes - used) / chunk_bytes);
}

void Link::reserve(std::uint64_t chunks, std::int64_t now_ns) {
  if (lossy()) return;
  settle(now_ns);
  reserved_ += chunks;
}

void Link::release(std::uint64_t chunks, std::int64_t now_ns) {
  if (lossy() || chunks == 0) return;
  settle(now_ns);
  reserved_ -= chunks;
}

void Link::enter(std::uint64_t bytes, bool reserved, std::int64_t now_ns) {
  settle(now_ns);
  if (reserved && !lossy()) --reserved_;
  std::uint64_t place = first_ + waiting_;
  if (place >= sizes_.size()) place -= sizes_.size();
  sizes_[place] = bytes;
  ++waiting_;
  waiting_bytes_ += bytes;
  ++entered_;
  max_chunks_ = std::max(max_chunks_, waiting_);
}

std::uint64_t Link::leave(std::int64_t now_ns) {
  settle(now_ns);
  const std::uint64_t bytes = sizes_[first_];
  if (++first_ == sizes_.size()) first_ = 0;
  --waiting_;
  waiting_bytes_ -= bytes;
  return bytes;
}

void Link::settle(std::int64_t now_ns) {
  const std::int64_t elapsed = now_ns - since_ns_;
  if (elapsed <= 0) return;
  since_ns_ = now_ns;
  chunk_ns_ += elapsed * static_cast<std::int64_t>(waiting_);
  if (waiting_ == 0) empty_ns_ += elapsed;
  if (waiting_ != 0 && (waiting_ + reserved_ >= bounds_.chunks || waiting_bytes_ >= bounds_.bytes)) full_ns_ += elapsed;
}

Link::Occupancy Link::occupancy(std::int64_t start_ns, std::int64_t now_ns) const {
  Link::Occupancy result{0, max_chunks_, full_ns_, empty_ns_, entered_, dropped_};
  const std::int64_t open = std::max<std::int64_t>(now_ns - since_ns_, 0);
  if (waiting_ == 0) result.empty_ns += open;
  const auto area = static_cast<double>(chunk_ns_) + static_cast<double>(open) * static_cast<double>(waiting_);
  if (now_ns > start_ns) result.mean_chunks = area / static_cast<double>(now_ns - start_ns);
  return result;
}

}  // namespace millrace
