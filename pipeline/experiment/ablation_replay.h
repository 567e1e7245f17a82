#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "pipeline/core/clock.h"
#include "pipeline/core/stage.h"
#include "pipeline/experiment/ablation_recording.h"

namespace millrace {

/// How recorded bytes are handed out.
enum class HandOut {
  /// The recording's own memory, shared like a fan-out shares it: nothing is copied, and nobody can write it.
  shared,
  /// A copy in a loan of the output link (counted): for a stage behind that works in place. Sharing would make that
  /// stage copy, inside the calls that are to be measured.
  loaned,
};

/// Gives a source's recorded chunks, from the first again after the last, until `total` chunks were given; without a
/// total for ever. It reads nothing and waits for nothing. A recording of nothing gives nothing.
class ReplayedSource final : public Source {
 public:
  struct Shape {
    bool parallel = false;
    std::optional<std::uint64_t> total_chunks;
    std::optional<std::uint64_t> total_bytes;
    ChunkType type;
  };
  ReplayedSource(std::shared_ptr<const Recording> recording, HandOut hand_out, Shape shape)
      : recording_(std::move(recording)), hand_out_(hand_out), shape_(std::move(shape)) {}

  bool parallel() const override { return shape_.parallel; }
  ChunkType prepare() override { return shape_.type; }
  std::optional<Chunk> produce(std::uint64_t index) override;
  std::optional<std::uint64_t> total_chunks() const override { return shape_.total_chunks; }
  std::optional<std::uint64_t> total_bytes() const override { return shape_.total_bytes; }

 private:
  std::shared_ptr<const Recording> recording_;
  const HandOut hand_out_;
  const Shape shape_;
};

/// Waits off the CPU for times that are given piece by piece. Short ones are saved up, and what a sleep took too much
/// is taken off the next, so that the sum is right however coarse sleeping is.
class Waiting {
 public:
  explicit Waiting(Clock& clock) : clock_(clock) {}
  /// Until the time was waited, or the run is stopped.
  void wait(std::int64_t ns);

 private:
  Clock& clock_;
  std::int64_t owed_ns_ = 0;  ///< negative: waited in advance
};

/// Gives what a transform was recorded to give for its input of the same number (modulo the recording): as many chunks,
/// with the same bytes. One per slot. The numbers that inputs without their own get are shared by the slots.
class ReplayedTransform final : public Transform {
 public:
  struct Shape {
    std::uint32_t slot = 0;
    bool parallel = false;
    bool splits = false;
    bool waits = false;  ///< each call lasts as recorded, without using a core; else no time at all
    HandOut hand_out = HandOut::shared;
    /// Null: inputs are numbered by their sequence.
    std::shared_ptr<std::atomic<std::uint64_t>> numbers;
    ChunkType type;
  };
  ReplayedTransform(std::shared_ptr<const Recording> recording, Shape shape, Clock& clock)
      : recording_(std::move(recording)), shape_(std::move(shape)), waiting_(clock) {}

  bool parallel() const override { return shape_.parallel; }
  ChunkType prepare(const ChunkType& /*input*/) override { return shape_.type; }
  std::optional<Chunk> process(Chunk chunk) override;
  bool splits() const override { return shape_.splits; }
  std::optional<Chunk> more() override;
  std::optional<Chunk> finish() override;

 private:
  std::optional<Chunk> next();

  std::shared_ptr<const Recording> recording_;
  const Shape shape_;
  Waiting waiting_;
  const KeptTurn* turn_ = nullptr;
  std::size_t step_ = 0;    // in turn_
  bool finishing_ = false;  // turn_ is that of finish()
};

/// Takes every chunk and forgets it, at once.
class ForgettingSink final : public Sink {
 public:
  explicit ForgettingSink(bool parallel) : parallel_(parallel) {}

  bool parallel() const override { return parallel_; }
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}

 private:
  const bool parallel_;
};

}  // namespace millrace
