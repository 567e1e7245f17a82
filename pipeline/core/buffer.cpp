#include "pipeline/core/buffer.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

constexpr std::align_val_t kAlignment{64};

class HeapLender final : public Lender {
 public:
  Buffer lend(std::size_t bytes) override {
    auto block = std::make_unique<BufferBlock>();
    block->capacity = std::max<std::size_t>(bytes, 1);
    block->data = static_cast<std::byte*>(::operator new(block->capacity, kAlignment, std::nothrow));
    if (block->data == nullptr) throw Error("no memory for a buffer of " + std::to_string(bytes) + " bytes");
    block->lender = this;
    block->users.store(1, std::memory_order_relaxed);
    return {block.release(), bytes};
  }

  void take_back(BufferBlock& block) noexcept override {
    ::operator delete(block.data, kAlignment);
    delete &block;
  }
};

}  // namespace

std::span<std::byte> Buffer::writable() {
  if (size_ != 0 && !unique()) {
    throw Error(block_->read_only ? "a buffer that shows a mapped file cannot be written"
                                  : "a shared buffer cannot be written");
  }
  return {data_, size_};
}

void Buffer::resize(std::size_t bytes) {
  if (bytes > capacity()) {
    throw Error("a buffer of " + std::to_string(capacity()) + " bytes cannot show " + std::to_string(bytes));
  }
  size_ = bytes;
}

Buffer Buffer::slice(std::size_t offset, std::size_t bytes) const {
  Buffer part(*this);
  part.narrow(offset, bytes);
  return part;
}

void Buffer::narrow(std::size_t offset, std::size_t bytes) {
  if (offset > size_ || bytes > size_ - offset) {
    throw Error("slice [" + std::to_string(offset) + ", +" + std::to_string(bytes) + ") of a buffer of " +
                std::to_string(size_) + " bytes");
  }
  data_ += offset;
  size_ = bytes;
}

void Buffer::give_back() noexcept {
  BufferBlock* const block = std::exchange(block_, nullptr);
  data_ = nullptr;
  size_ = 0;
  // The sole owner needs no locked instruction: nobody else can add a user to a block that it cannot see.
  if (block->users.load(std::memory_order_acquire) == 1 || block->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block->lender->take_back(*block);
  }
}

Lender& heap_lender() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): lives as long as any buffer may
  static auto* const kLender = new HeapLender;
  return *kLender;
}

}  // namespace millrace
