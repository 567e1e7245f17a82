#pragma once

#include <boost/lockfree/spsc_queue.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "pipeline/core/chunk.h"
#include "pipeline/spec.h"

namespace millrace {

/// The most chunks that one firing may take: bounds what a ring must hold beyond its link's capacity.
inline constexpr std::uint32_t kMaxBatch = 32;
/// ... and the most bytes, so that what a slot holds in its hands stays one chunk in the memory plan unless chunks are
/// tiny.
inline constexpr std::uint64_t kMaxBatchBytes = 64 << 10;
/// Chunks of at most `chunk_bytes` in the largest batch.
constexpr std::uint64_t batch_of(std::uint64_t chunk_bytes) {
  if (chunk_bytes == 0) return 1;
  const std::uint64_t chunks = kMaxBatchBytes / chunk_bytes;
  return chunks == 0 ? 1 : chunks > kMaxBatch ? kMaxBatch : chunks;
}

/// One bounded link: the ring that carries the chunks, and the account that says what may enter and leave it.
///
/// The account is the business of FlowState and is touched only under the graph's lock. The ring is a lock-free queue
/// for one producer and one consumer at a time: a stage with one slot may move chunks in or out of it before or after
/// it holds the lock, everybody else moves them under the lock (see may_push_outside, may_pop_outside).
class Link {
 public:
  struct Bounds {
    std::uint64_t chunks = 1;
    std::uint64_t bytes = 1;
    WhenFull when_full = WhenFull::block;
  };

  Link(const Bounds& bounds, std::uint32_t producer_slots, std::uint32_t consumer_slots, std::int64_t start_ns);

  WhenFull when_full() const { return bounds_.when_full; }
  bool lossy() const { return bounds_.when_full != WhenFull::block; }
  bool may_push_outside() const { return push_outside_; }
  bool may_pop_outside() const { return pop_outside_; }

  // --- the ring
  void push(Chunk& chunk);  ///< moves from `chunk`
  /// Pops `count` chunks, which were counted out before, to the end of `chunks`.
  void pop(std::uint32_t count, std::vector<Chunk>& chunks);

  // --- the account
  std::uint64_t waiting() const { return waiting_; }
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  bool closed() const { return closed_; }
  void close() { closed_ = true; }

  /// Chunks that may still be started into this link: 0 while it holds its bound of bytes (those of firings that wait
  /// for their turn included), without end for a lossy link.
  std::uint64_t credits() const;
  /// Room for one more chunk of the firing whose turn it is: what waits behind it does not count against the bytes,
  /// or the two would wait for each other.
  bool credit_in_turn() const;
  /// Chunks of at most `chunk_bytes` that fit below the byte bound, at least 1.
  std::uint64_t fitting(std::uint64_t chunk_bytes) const;

  void reserve(std::uint64_t chunks, std::int64_t now_ns);
  void release(std::uint64_t chunks, std::int64_t now_ns);
  void hold_bytes(std::uint64_t bytes) { held_bytes_ += bytes; }  ///< of a finished firing that waits for its turn
  void unhold_bytes(std::uint64_t bytes) { held_bytes_ -= bytes; }
  /// Counts a chunk in. `reserved` gives back its credit.
  void enter(std::uint64_t bytes, bool reserved, std::int64_t now_ns);
  /// Counts the oldest chunk out and returns its bytes.
  std::uint64_t leave(std::int64_t now_ns);
  /// True when a chunk that enters now would exceed a bound.
  bool full() const { return waiting_ >= bounds_.chunks || waiting_bytes_ >= bounds_.bytes; }
  void count_drop() { ++dropped_; }
  bool half_full() const { return 2 * waiting_ >= bounds_.chunks || 2 * waiting_bytes_ >= bounds_.bytes; }
  bool half_empty() const { return lossy() || (2 * waiting_ <= bounds_.chunks && 2 * waiting_bytes_ <= bounds_.bytes); }

  // --- occupancy
  struct Occupancy {
    double mean_chunks = 0;
    std::uint64_t max_chunks = 0;
    std::int64_t full_ns = 0;   ///< no credit left
    std::int64_t empty_ns = 0;  ///< nothing waiting
    std::uint64_t entered = 0;
    std::uint64_t dropped = 0;
  };
  Occupancy occupancy(std::int64_t start_ns, std::int64_t now_ns) const;

 private:
  /// Boost 1.74's ring can only copy its elements, and a copied chunk would count its buffer up and down again for
  /// nothing. A Cell made for pushing holds no chunk but says where one is; its copy in the ring moves it from there.
  struct Cell {
    Cell() = default;
    explicit Cell(Chunk& from) : source(&from) {}
    Cell(const Cell& other) : chunk(std::move(*other.source)) {}
    Cell& operator=(const Cell& other) {
      if (this != &other) chunk = std::move(*other.source);
      return *this;
    }
    ~Cell() = default;
    Chunk chunk;
    Chunk* source = &chunk;
  };

  void settle(std::int64_t now_ns);

  Bounds bounds_;
  bool push_outside_;
  bool pop_outside_;
  boost::lockfree::spsc_queue<Cell> ring_;
  std::vector<std::uint64_t> sizes_;  // bytes of the waiting chunks, a ring beside the ring: read before the pop
  std::uint64_t first_ = 0;           // index into sizes_ of the oldest waiting chunk

  std::uint64_t waiting_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t held_bytes_ = 0;
  bool closed_ = false;

  std::int64_t since_ns_;
  std::uint64_t entered_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t max_chunks_ = 0;
  std::int64_t chunk_ns_ = 0;  // integral of waiting over time
  std::int64_t full_ns_ = 0;
  std::int64_t empty_ns_ = 0;
};

}  // namespace millrace
