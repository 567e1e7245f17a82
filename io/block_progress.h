#pragma once

#include <algorithm>
#include <cstdint>

#include "io/alignment.h"
#include "io/reader.h"

namespace millrace::io {

/// How far the reading of some blocks came, over any number of calls. After a short count it goes on at the block in
/// which that ended, because direct I/O reads whole blocks only.
class BlockProgress {
 public:
  /// `blocks`: whole blocks of `block` bytes. The bytes up to `wanted_end` (a place in the file) are needed, the rest
  /// of the last block is not.
  BlockProgress(Extent blocks, std::uint64_t wanted_end, std::uint64_t block)
      : blocks_(blocks), block_(block), wanted_(std::min(wanted_end - blocks.offset, blocks.length)) {}

  bool complete() const { return done_ >= wanted_; }

  /// What is to be read next: whole blocks, at most 1 GiB (which is what a registered buffer can have).
  Extent next() const {
    constexpr std::uint64_t kMostBytes = 1ULL << 30;
    const std::uint64_t begin = round_down(done_, block_);
    return {blocks_.offset + begin, std::min(blocks_.length - begin, kMostBytes)};
  }

  /// Takes in that `moved` bytes of next() came. False: the file ends at place().
  bool advance(std::uint64_t moved) {
    const std::uint64_t reached = round_down(done_, block_) + moved;
    if (reached <= done_) return false;
    done_ = reached;
    return true;
  }

  /// Where the bytes end that have come.
  std::uint64_t place() const { return blocks_.offset + done_; }

 private:
  Extent blocks_;
  std::uint64_t block_;
  std::uint64_t wanted_;
  std::uint64_t done_ = 0;
};

}  // namespace millrace::io
