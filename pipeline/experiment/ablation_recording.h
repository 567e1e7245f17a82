#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "pipeline/core/chunk.h"

namespace millrace {

/// One call of a stage as it was recorded.
struct KeptCall {
  std::int64_t service_ns = 0;  ///< from call to return, without the time that it waited for a core
  std::optional<Chunk> output;  ///< a copy in memory of the recording; nothing = the call returned nothing
  /// The output was the input with the bytes as they came. `output` then has no bytes, and attributes only if the stage
  /// gave it others.
  bool passes_input = false;
};

/// The calls for one input, in order: process() and what more() gave until it gave nothing; one produce() of a source;
/// or the finish() calls of one slot.
using KeptTurn = std::vector<KeptCall>;

/// What a stage gave for its first inputs, all its slots together, within a bound of memory. Turns have the number of
/// their input (of a source: of their chunk). What is kept is always the turns 0 to size() - 1 without a gap, whatever
/// the order in which slots came by; where a lossy link lost inputs, their numbers are closed up.
///
/// First filled, from any thread, then sealed, then read, from any thread.
class Recording {
 public:
  /// `room_bytes`: for copies and for what it takes to keep them.
  explicit Recording(std::uint64_t room_bytes) : room_bytes_(room_bytes) {}
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // --- while it is filled
  /// 0, 1, 2, ... for inputs that have no number of their own.
  std::uint64_t draw_number();
  /// Whether turn `number` may still be kept.
  bool wants(std::uint64_t number) const;
  /// `chunk` with its bytes copied. Nothing when the room is used up; then no turn from `number` on is kept.
  std::optional<Chunk> copy(std::uint64_t number, const Chunk& chunk);
  /// The same for what finish() gave; without room it is nothing, and finish_is_whole() false from then on.
  std::optional<Chunk> copy_at_finish(const Chunk& chunk);
  void add(std::uint64_t number, KeptTurn turn);
  void add_finish(std::uint32_t slot, KeptCall call);
  /// The stage changed the bytes of its input where they lay.
  void note_in_place();
  /// The source had no chunk `number` any more.
  void note_end(std::uint64_t number);

  /// Ends the filling.
  void seal();

  // --- afterwards
  /// Turns kept; 0 also when not even the first one had room.
  std::size_t size() const { return turns_.size(); }
  /// Turn `number`, from the first again after the last. size() is not 0.
  const KeptTurn& turn(std::uint64_t number) const { return turns_[number % turns_.size()]; }
  /// Whether a turn came that had no room.
  bool ran_out() const { return limit_ != kNoLimit; }
  /// The finish() calls of a slot; empty when there were none.
  const KeptTurn& finish(std::uint32_t slot) const;
  bool finish_is_whole() const { return finish_is_whole_; }
  bool works_in_place() const { return in_place_; }
  /// Whether some call passed its input on.
  bool passes_input() const { return passes_input_; }
  /// Where the stream of a source ended, if it was seen.
  std::optional<std::uint64_t> end() const { return end_; }
  /// Of all kept turns together.
  std::int64_t service_ns() const { return service_ns_; }
  std::uint64_t bytes() const { return used_bytes_; }

 private:
  static constexpr std::uint64_t kNoLimit = static_cast<std::uint64_t>(-1);

  std::optional<Chunk> copy_in_room(const Chunk& chunk);

  const std::uint64_t room_bytes_;
  mutable std::mutex mutex_;
  std::uint64_t next_number_ = 0;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t limit_ = kNoLimit;  // turns from here on are not kept
  std::map<std::uint64_t, KeptTurn> open_;
  std::map<std::uint32_t, KeptTurn> finishes_;
  std::vector<KeptTurn> turns_;
  std::optional<std::uint64_t> end_;
  std::int64_t service_ns_ = 0;
  bool finish_is_whole_ = true;
  bool in_place_ = false;
  bool passes_input_ = false;
};

}  // namespace millrace
