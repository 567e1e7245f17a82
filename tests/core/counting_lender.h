#pragma once

#include <atomic>

#include "pipeline/core/buffer.h"

namespace millrace::test {

/// Lends from the heap and counts. The blocks are its own, so it sees every return.
class CountingLender final : public Lender {
 public:
  Buffer lend(std::size_t bytes) override {
    ++lent_;
    auto* const block = new BufferBlock;
    block->data = new std::byte[bytes + kSpare];
    block->capacity = bytes + kSpare;
    block->lender = this;
    block->users = 1;
    return {block, bytes};
  }

  void take_back(BufferBlock& block) noexcept override {
    ++returned_;
    delete[] block.data;
    delete &block;
  }

  int lent() const { return lent_; }
  int returned() const { return returned_; }
  int out() const { return lent_ - returned_; }

  static constexpr std::size_t kSpare = 16;  ///< bytes that a block has beyond what was asked for

 private:
  std::atomic<int> lent_{0};
  std::atomic<int> returned_{0};
};

}  // namespace millrace::test
