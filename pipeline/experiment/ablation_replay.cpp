#include "pipeline/experiment/ablation_replay.h"

#include <cstring>
#include <utility>

namespace millrace {
namespace {

/// Shorter waits are saved up to this: a sleep costs some 5 us of a core, and ends some 60 us late.
constexpr std::int64_t kShortestSleepNs = 200'000;

Chunk handed_out(const Chunk& recorded, HandOut hand_out) {
  if (hand_out == HandOut::shared || recorded.size_bytes() == 0) return recorded;
  Buffer bytes = loan(recorded.size_bytes());
  std::memcpy(bytes.writable().data(), recorded.bytes().data(), recorded.size_bytes());
  call_context().tally.copied_bytes += recorded.size_bytes();
  return recorded.with(std::move(bytes), recorded.dtype(), recorded.shape());
}

}  // namespace

std::optional<Chunk> ReplayedSource::produce(std::uint64_t index) {
  if (recording_->size() == 0 || (shape_.total_chunks && index >= *shape_.total_chunks)) return std::nullopt;
  return handed_out(*recording_->turn(index).front().output, hand_out_);
}

void Waiting::wait(std::int64_t ns) {
  owed_ns_ += ns;
  if (owed_ns_ < kShortestSleepNs) return;
  const std::int64_t start_ns = clock_.now_ns();
  clock_.sleep_until(start_ns + owed_ns_, call_context().stop);
  owed_ns_ -= clock_.now_ns() - start_ns;
}

std::optional<Chunk> ReplayedTransform::process(Chunk chunk) {
  if (recording_->size() == 0) return std::nullopt;
  turn_ = &recording_->turn(shape_.numbers == nullptr ? chunk.sequence() : shape_.numbers->fetch_add(1));
  step_ = 0;
  const KeptCall& call = turn_->front();
  if (!call.passes_input) return next();
  ++step_;
  if (shape_.waits) waiting_.wait(call.service_ns);
  if (call.output->shared_attributes() != nullptr) chunk.set_attributes(call.output->shared_attributes());
  return chunk;
}

std::optional<Chunk> ReplayedTransform::more() { return next(); }

std::optional<Chunk> ReplayedTransform::finish() {
  if (!finishing_) {
    finishing_ = true;
    turn_ = &recording_->finish(shape_.slot);
    step_ = 0;
  }
  return next();
}

std::optional<Chunk> ReplayedTransform::next() {
  if (turn_ == nullptr || step_ >= turn_->size()) return std::nullopt;
  const KeptCall& call = (*turn_)[step_++];
  if (shape_.waits) waiting_.wait(call.service_ns);
  if (!call.output) return std::nullopt;
  return handed_out(*call.output, shape_.hand_out);
}

}  // namespace millrace
