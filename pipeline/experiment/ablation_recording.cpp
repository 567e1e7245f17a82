#include "pipeline/experiment/ablation_recording.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

/// Whole pages, so that a writer that needs aligned memory takes the copy as it would take the stage's own buffer.
constexpr std::size_t kAlignment = 4096;
/// What a turn of one call takes beside its bytes: vector, node of the map, block, and their allocators' overhead.
constexpr std::uint64_t kTurnBytes = sizeof(KeptCall) + sizeof(KeptTurn) + sizeof(BufferBlock) + 128;

std::size_t whole_pages(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment; }

/// Lends page-aligned memory from operator new; never destroyed, like heap_lender().
class PageLender final : public Lender {
 public:
  Buffer lend(std::size_t bytes) override {
    auto block = std::make_unique<BufferBlock>();
    block->capacity = whole_pages(bytes) * kAlignment;
    block->data = static_cast<std::byte*>(::operator new (block->capacity, std::align_val_t{kAlignment}, std::nothrow));
    if (block->data == nullptr) throw Error("no memory to record a chunk of " + std::to_string(bytes) + " bytes");
    block->lender = this;
    block->users.store(1, std::memory_order_relaxed);
    return {block.release(), bytes};
  }
  void take_back(BufferBlock& block) noexcept override {
    ::operator delete (block.data, std::align_val_t{kAlignment});
    delete &block;
  }
};

Lender& page_lender() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): lives as long as any buffer may
  static auto* const kLender = new PageLender;
  return *kLender;
}

/// Small chunks come from the heap: a page for each would be mostly padding.
Lender& lender_for(std::size_t bytes) { return bytes < kAlignment ? heap_lender() : page_lender(); }

std::uint64_t cost_of(std::size_t bytes) {
  return kTurnBytes + (bytes < kAlignment ? bytes + 64 : whole_pages(bytes) * kAlignment);
}

}  // namespace

std::uint64_t Recording::draw_number() {
  const std::lock_guard lock(mutex_);
  return next_number_++;
}

bool Recording::wants(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return number < limit_;
}

std::optional<Chunk> Recording::copy_in_room(const Chunk& chunk) {
  const std::uint64_t cost = cost_of(chunk.size_bytes());
  {
    const std::lock_guard lock(mutex_);
    if (cost > room_bytes_ - used_bytes_) return std::nullopt;
    used_bytes_ += cost;
  }
  Buffer bytes = lender_for(chunk.size_bytes()).lend(chunk.size_bytes());
  if (chunk.size_bytes() != 0) std::memcpy(bytes.writable().data(), chunk.bytes().data(), chunk.size_bytes());
  return chunk.with(std::move(bytes), chunk.dtype(), chunk.shape());
}

std::optional<Chunk> Recording::copy(std::uint64_t number, const Chunk& chunk) {
  auto result = copy_in_room(chunk);
  if (!result) {
    const std::lock_guard lock(mutex_);
    limit_ = std::min(limit_, number);
  }
  return result;
}

std::optional<Chunk> Recording::copy_at_finish(const Chunk& chunk) {
  auto result = copy_in_room(chunk);
  if (!result) {
    const std::lock_guard lock(mutex_);
    finish_is_whole_ = false;
  }
  return result;
}

void Recording::add(std::uint64_t number, KeptTurn turn) {
  const std::lock_guard lock(mutex_);
  if (number >= limit_) return;
  // Calls that gave nothing, or their input, took no room yet, and there may be any number of them.
  for (const KeptCall& call : turn) {
    if (call.output && !call.passes_input) continue;
    if (kTurnBytes > room_bytes_ - used_bytes_) {
      limit_ = number;
      return;
    }
    used_bytes_ += kTurnBytes;
  }
  open_.insert_or_assign(number, std::move(turn));
}

void Recording::add_finish(std::uint32_t slot, KeptCall call) {
  const std::lock_guard lock(mutex_);
  finishes_[slot].push_back(std::move(call));
}

void Recording::note_in_place() {
  const std::lock_guard lock(mutex_);
  in_place_ = true;
}

void Recording::note_end(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  end_ = std::min(end_.value_or(number), number);
}

void Recording::seal() {
  const std::lock_guard lock(mutex_);
  for (auto& [number, turn] : open_) {
    if (number >= limit_) break;
    for (const KeptCall& call : turn) {
      service_ns_ += call.service_ns;
      passes_input_ = passes_input_ || call.passes_input;
    }
    turns_.push_back(std::move(turn));
  }
  open_.clear();
}

const KeptTurn& Recording::finish(std::uint32_t slot) const {
  static const KeptTurn kNone;
  const auto found = finishes_.find(slot);
  return found == finishes_.end() ? kNone : found->second;
}

}  // namespace millrace
