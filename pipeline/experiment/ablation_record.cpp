#include "pipeline/experiment/ablation_record.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace millrace {
namespace {

/// A number that changes when any of the bytes does, but for one case in 2^64. Four lanes, so that it is limited by the
/// memory and not by the multiplications.
std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + sizeof(lanes) <= bytes.size(); at += sizeof(lanes)) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at + lane * sizeof(word), sizeof(word));
      lanes[lane] = (lanes[lane] ^ word) * kOdd;
      lanes[lane] ^= lanes[lane] >> 29U;
    }
  }
  std::uint64_t sum = bytes.size();
  for (; at < bytes.size(); ++at) sum = (sum ^ static_cast<std::uint64_t>(bytes[at])) * kOdd;
  for (const std::uint64_t lane : lanes) sum = (sum ^ lane) * kOdd;
  return sum;
}

/// What the input was before the call, to be compared with what came of it. Nothing is kept of the chunk: a second
/// handle on its buffer would make the stage copy it.
struct InputBefore {
  explicit InputBefore(const Chunk& chunk)
      : block(chunk.buffer().block()),
        bytes(chunk.bytes()),
        print(fingerprint(chunk.bytes())),
        dtype(chunk.dtype()),
        shape(chunk.shape()),
        attributes(chunk.shared_attributes()) {}

  /// The output lies in the input's block, which the output keeps alive: its bytes can be looked at again. (Or in
  /// another block at the same place, made after the input's was given back: then at least there are as many.)
  bool shares(const Chunk& output) const {
    return block != nullptr && output.buffer().block() == block && bytes.data() >= block->data &&
           bytes.data() + bytes.size() <= block->data + block->capacity;
  }
  bool unchanged() const { return fingerprint(bytes) == print; }
  bool is(const Chunk& output) const {
    return output.bytes().data() == bytes.data() && output.size_bytes() == bytes.size() && output.dtype() == dtype &&
           output.shape() == shape;
  }

  const BufferBlock* block;
  std::span<const std::byte> bytes;
  std::uint64_t print;
  DType dtype;
  Shape shape;
  std::shared_ptr<const Attributes> attributes;
};

/// Calls, and says how long that took without what the thread waited for a core.
template <typename Call>
std::optional<Chunk> timed(Clock& clock, std::int64_t& service_ns, Call&& call) {
  const ThreadUsage before = clock.thread_usage();
  const std::int64_t start_ns = clock.now_ns();
  std::optional<Chunk> output = std::forward<Call>(call)();
  const std::int64_t wall_ns = clock.now_ns() - start_ns;
  const ThreadUsage after = clock.thread_usage();
  service_ns = std::clamp<std::int64_t>(wall_ns - (after.run_delay_ns - before.run_delay_ns), 0, wall_ns);
  return output;
}

/// What the stage changed of an input that it passed on: its attributes, if anything.
Chunk change_of(const Chunk& output, const InputBefore& before) {
  Chunk change;
  if (output.shared_attributes() != before.attributes) change.set_attributes(output.shared_attributes());
  return change;
}

}  // namespace

RecordingSource::RecordingSource(std::unique_ptr<Source> inner, std::shared_ptr<Recording> recording)
    : inner_(std::move(inner)), recording_(std::move(recording)) {}

std::optional<Chunk> RecordingSource::produce(std::uint64_t index) {
  std::optional<Chunk> chunk = inner_->produce(index);
  if (!chunk) {
    // A source that is told to stop gives nothing either, but that is not where its stream ends.
    if (!call_context().stop.stop_requested()) recording_->note_end(index);
    return chunk;
  }
  if (!recording_->wants(index)) return chunk;
  if (auto copy = recording_->copy(index, *chunk)) {
    KeptTurn turn;
    turn.push_back({0, std::move(copy), false});
    recording_->add(index, std::move(turn));
  }
  return chunk;
}

RecordingTransform::RecordingTransform(std::unique_ptr<Transform> inner, std::shared_ptr<Recording> recording,
                                       std::uint32_t slot, bool merges, Clock& clock)
    : inner_(std::move(inner)), recording_(std::move(recording)), slot_(slot), merges_(merges), clock_(clock) {}

std::optional<Chunk> RecordingTransform::process(Chunk chunk) {
  number_ = merges_ ? recording_->draw_number() : chunk.sequence();
  turn_.clear();
  recorded_ = recording_->wants(number_);
  if (!recorded_) return inner_->process(std::move(chunk));

  const InputBefore before(chunk);
  KeptCall call;
  auto output = timed(clock_, call.service_ns, [&] { return inner_->process(std::move(chunk)); });
  if (output && before.shares(*output)) {
    const bool unchanged = before.unchanged();
    if (!unchanged) recording_->note_in_place();
    call.passes_input = unchanged && before.is(*output);
    if (call.passes_input) call.output = change_of(*output, before);
  }
  keep(std::move(call), output);
  return output;
}

std::optional<Chunk> RecordingTransform::more() {
  if (!recorded_) return inner_->more();
  KeptCall call;
  auto output = timed(clock_, call.service_ns, [&] { return inner_->more(); });
  keep(std::move(call), output);
  return output;
}

/// Adds a call to the turn, and the turn to the recording when this was its last call.
void RecordingTransform::keep(KeptCall call, const std::optional<Chunk>& output) {
  if (output && !call.passes_input) {
    call.output = recording_->copy(number_, *output);
    if (!call.output) {
      recorded_ = false;
      turn_.clear();
      return;
    }
  }
  turn_.push_back(std::move(call));
  if (!output || !inner_->splits()) recording_->add(number_, std::exchange(turn_, {}));
}

std::optional<Chunk> RecordingTransform::finish() {
  KeptCall call;
  auto output = timed(clock_, call.service_ns, [&] { return inner_->finish(); });
  if (output) call.output = recording_->copy_at_finish(*output);
  if (!output || call.output) recording_->add_finish(slot_, std::move(call));
  return output;
}

}  // namespace millrace
