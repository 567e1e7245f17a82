#include "io/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "io/alignment.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2ULL << 20;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kMostExtra = 1024;  // blocks that may be added when all are out

std::size_t alignment_of(std::size_t block_bytes) {
  if (block_bytes >= kHugePage) return kHugePage;
  return block_bytes >= kPage ? kPage : kCacheLine;
}

/// Bytes from one block of a slab to the next. Blocks may share a huge page unless its rest is hardly worth sharing.
std::size_t stride_of(std::size_t block_bytes) {
  if (block_bytes >= kHugePage) {
    const std::size_t whole_pages = round_up(block_bytes, kHugePage);
    if (whole_pages - block_bytes <= block_bytes / 16) return whole_pages;
  }
  return round_up(std::max<std::size_t>(block_bytes, 1), block_bytes >= kPage ? kPage : kCacheLine);
}

/// Uninitialised memory for blocks, in a mapping of its own. What is never touched costs nothing: a link that is
/// bounded by bytes announces more blocks than it will ever fill, so the kernel is not asked to set memory aside for
/// them.
class Memory {
 public:
  Memory(std::size_t bytes, std::size_t alignment) {
    if (bytes == 0) return;
    mapped_bytes_ = round_up(bytes, kPage) + (alignment > kPage ? alignment : 0);
    void* const address =
        ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw Error("no memory for buffers of " + std::to_string(bytes) + " bytes");
    mapped_ = static_cast<std::byte*>(address);
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    data_ = mapped_ + (round_up(place, alignment) - place);
    // A wish: without huge pages it works as well, only slower.
    if (alignment == kHugePage) ::madvise(data_, round_up(bytes, kPage), MADV_HUGEPAGE);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
  }

  std::byte* data() const { return data_; }

 private:
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

/// Header of a block, on a cache line of its own: the threads at both ends of a link write it.
struct alignas(kCacheLine) Node : BufferBlock {
  std::atomic<std::uint32_t> next{kNone};  // index of the node below in the stack of free ones
};
static_assert(sizeof(Node) == kCacheLine);

/// A block beside the slab: its header with memory of its own.
struct LoneNode : Node {
  explicit LoneNode(std::size_t bytes) : memory(std::max<std::size_t>(bytes, 1), alignment_of(bytes)) {
    data = memory.data();
    capacity = bytes;
  }
  Memory memory;
};

std::uint32_t checked_count(std::uint64_t block_bytes, std::uint64_t buffers) {
  constexpr std::uint64_t kMostBytes = 1ULL << 46;  // half of what a process can address
  if (buffers >= kNone - kMostExtra || block_bytes > kMostBytes ||
      (buffers != 0 && block_bytes + kPage > kMostBytes / buffers)) {
    throw Error("no memory for " + std::to_string(buffers) + " buffers of " + std::to_string(block_bytes) + " bytes");
  }
  return static_cast<std::uint32_t>(buffers);
}

}  // namespace

/// Everything of the pool; outlives it when buffers are still out.
///
/// Free blocks form a Treiber stack of indices. Its head is one word {tag, index}; every change counts the tag up, so
/// that a compare-and-swap cannot succeed on a head that went away and came back meanwhile.
class BufferPool::Core final : public Lender {
 public:
  Core(std::uint64_t block_bytes, std::uint64_t buffers)
      : block_bytes_(block_bytes),
        slab_count_(checked_count(block_bytes, buffers)),
        slab_(slab_count_ * stride_of(block_bytes), alignment_of(block_bytes)),
        slab_nodes_(std::make_unique<Node[]>(slab_count_)),
        nodes_(std::make_unique<std::atomic<Node*>[]>(slab_count_ + kMostExtra)),
        allocations_(buffers) {
    for (std::uint32_t i = slab_count_; i-- > 0;) {
      Node& node = slab_nodes_[i];
      node.data = slab_.data() + i * stride_of(block_bytes);
      node.capacity = block_bytes_;
      adopt(node, i);
      push(node);
    }
  }

  Buffer lend(std::size_t bytes) override {
    Node* node = nullptr;
    if (bytes <= block_bytes_) [[likely]] {
      node = pop();
      if (node == nullptr) [[unlikely]] {
        node = grow();
      }
    }
    if (node == nullptr) [[unlikely]] {
      node = lend_once(bytes);
    }
    node->users.store(1, std::memory_order_relaxed);
    return {node, bytes};
  }

  void take_back(BufferBlock& block) noexcept override {
    auto& node = static_cast<Node&>(block);
    if (node.id != kNone) [[likely]] {
      push(node);
      return;
    }
    delete static_cast<LoneNode*>(&node);
    lent_once_.fetch_sub(1, std::memory_order_release);
  }

  std::uint64_t allocations() const { return allocations_.load(std::memory_order_relaxed); }

  /// True when every block is back. Exact while no other thread uses the pool.
  bool all_back() {
    const std::lock_guard lock(growth_);
    std::uint64_t free = 0;
    for (auto i = index_of(head_.load(std::memory_order_acquire)); i != kNone; ++free) {
      i = nodes_[i].load(std::memory_order_relaxed)->next.load(std::memory_order_relaxed);
    }
    return free == slab_count_ + extra_.size() && lent_once_.load(std::memory_order_acquire) == 0;
  }

 private:
  static std::uint32_t index_of(std::uint64_t head) { return static_cast<std::uint32_t>(head); }
  static std::uint64_t changed(std::uint64_t head, std::uint32_t index) { return (((head >> 32U) + 1) << 32U) | index; }

  void adopt(Node& node, std::uint32_t index) {
    node.lender = this;
    node.id = index;
    nodes_[index].store(&node, std::memory_order_relaxed);  // the push that follows releases it
  }

  void push(Node& node) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      node.next.store(index_of(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, changed(head, node.id), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  Node* pop() noexcept {
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      if (index_of(head) == kNone) return nullptr;
      Node* const node = nodes_[index_of(head)].load(std::memory_order_relaxed);
      // The node may be popped and changed by others right here: then the tag differs and nothing is taken.
      const std::uint32_t below = node->next.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, changed(head, below), std::memory_order_acquire)) return node;
    }
  }

  /// One block more, kept for ever; null when there are too many already.
  Node* grow() {
    const std::lock_guard lock(growth_);
    if (extra_.size() == kMostExtra) return nullptr;
    auto& node = *extra_.emplace_back(std::make_unique<LoneNode>(block_bytes_));
    adopt(node, slab_count_ + static_cast<std::uint32_t>(extra_.size()) - 1);
    allocations_.fetch_add(1, std::memory_order_relaxed);
    return &node;
  }

  Node* lend_once(std::size_t bytes) {
    auto node = std::make_unique<LoneNode>(bytes);
    node->lender = this;
    lent_once_.fetch_add(1, std::memory_order_relaxed);
    allocations_.fetch_add(1, std::memory_order_relaxed);
    return node.release();
  }

  const std::size_t block_bytes_;
  const std::uint32_t slab_count_;
  const Memory slab_;
  const std::unique_ptr<Node[]> slab_nodes_;
  const std::unique_ptr<std::atomic<Node*>[]> nodes_;  // by index: the slab's, then the extra ones
  alignas(kCacheLine) std::atomic<std::uint64_t> head_{kNone};
  alignas(kCacheLine) std::atomic<std::uint64_t> allocations_;
  std::atomic<std::uint64_t> lent_once_{0};  // out now
  std::mutex growth_;
  std::vector<std::unique_ptr<LoneNode>> extra_;
};

BufferPool::BufferPool(std::uint64_t buffer_bytes, std::uint64_t buffers) : core_(new Core(buffer_bytes, buffers)) {}

BufferPool::~BufferPool() {
  if (core_->all_back()) {
    delete core_;
    return;
  }
  // Reachable for ever, so that a leak checker shows what the owner of the buffers lost and not this.
  static std::mutex mutex;
  static auto* const left_behind = new std::vector<Core*>;
  const std::lock_guard lock(mutex);
  left_behind->push_back(core_);
}

Buffer BufferPool::lend(std::size_t bytes) { return core_->lend(bytes); }

void BufferPool::take_back(BufferBlock& block) noexcept { core_->take_back(block); }

std::uint64_t BufferPool::allocations() const { return core_->allocations(); }

}  // namespace millrace::io
