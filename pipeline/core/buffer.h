#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace millrace {

class Lender;

/// One piece of memory owned by a lender, with the count of handles that point at it. Made by lenders only.
struct BufferBlock {
  std::byte* data = nullptr;
  std::size_t capacity = 0;  ///< bytes
  Lender* lender = nullptr;
  std::atomic<std::uint32_t> users{0};
  /// Number of the block among those of its lender that stay where they are as long as the lender lives, so that the
  /// kernel may be told of their memory once (io_uring's registered buffers); kNoId = the memory may go away.
  std::uint32_t id = kNoId;
  /// The memory must not be written (a mapped file), even by its only user.
  bool read_only = false;

  static constexpr std::uint32_t kNoId = 0xffffffff;
};

/// A counted handle on (a part of) a block. Copies share the memory; the last handle gives the block back to its
/// lender. A handle belongs to one thread at a time; different handles on one block may live on different threads.
/// The bytes may be written only through a handle that is unique().
class Buffer {
 public:
  Buffer() = default;
  /// Takes one use of `block`, which must have been counted by the caller already (lenders do).
  Buffer(BufferBlock* block, std::size_t bytes) : block_(block), data_(block->data), size_(bytes) {}
  Buffer(const Buffer& other) : block_(other.block_), data_(other.data_), size_(other.size_) {
    if (block_ != nullptr) block_->users.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::byte* data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// True when no other handle shares the block and it may be written at all: the holder may write.
  bool unique() const {
    return block_ != nullptr && block_->users.load(std::memory_order_acquire) == 1 && !block_->read_only;
  }
  /// Writable bytes. Throws Error when the buffer is shared or read-only.
  std::span<std::byte> writable();
  /// Bytes that the block has from this handle's first byte on; resize() may go up to it.
  std::size_t capacity() const {
    return block_ == nullptr ? 0 : block_->capacity - static_cast<std::size_t>(data_ - block_->data);
  }
  /// Makes the buffer show `bytes` bytes (at most capacity(), else Error); contents are kept.
  void resize(std::size_t bytes);
  /// A second handle on bytes [offset, offset + bytes) of this one. Error when out of range. Copies nothing.
  Buffer slice(std::size_t offset, std::size_t bytes) const;
  /// Makes this handle show bytes [offset, offset + bytes) of what it shows now. Error when out of range. What lies
  /// before them can be shown no more.
  void narrow(std::size_t offset, std::size_t bytes);
  /// The block that the memory is part of; null for an empty handle. For who registers memory with the kernel.
  const BufferBlock* block() const { return block_; }

  /// Gives the handle back early; the buffer is empty afterwards.
  void release() noexcept {
    if (block_ != nullptr) give_back();
  }

 private:
  void give_back() noexcept;

  BufferBlock* block_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Lends memory. lend() may be called from any thread. A lender must outlive every buffer it lent.
class Lender {
 public:
  Lender() = default;
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  virtual ~Lender() = default;

  /// A unique buffer that shows `bytes` bytes; contents unspecified. Throws Error when there is no memory.
  virtual Buffer lend(std::size_t bytes) = 0;

  /// Called by the last handle of a block, on any thread.
  virtual void take_back(BufferBlock& block) noexcept = 0;
};

/// Lends 64-byte aligned memory straight from operator new; never destroyed. For tests and one-off buffers: a run
/// uses pools.
Lender& heap_lender();

}  // namespace millrace
