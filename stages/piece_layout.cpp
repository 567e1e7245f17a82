#include "stages/piece_layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pipeline/core/call_context.h"

namespace millrace {
namespace {

/// Bytes between the pieces of a read that are read along rather than leaving them out and copying the pieces together.
std::uint64_t tolerated_gaps(std::uint64_t bytes) { return std::max<std::uint64_t>(64UL * 1024, bytes / 8); }

/// Lends from the heap while it lives: for pieces that are copied together and do not go down the link themselves.
class LendFromHeap {
 public:
  LendFromHeap() : before_(std::exchange(call_context().lender, &heap_lender())) {}
  LendFromHeap(const LendFromHeap&) = delete;
  LendFromHeap& operator=(const LendFromHeap&) = delete;
  ~LendFromHeap() { call_context().lender = before_; }

 private:
  Lender* before_;
};

}  // namespace

PieceLayout lay_out(std::span<const io::Extent> pieces) {
  std::uint64_t first = pieces.front().offset;
  std::uint64_t last = 0;
  std::uint64_t sum = 0;
  for (const auto& piece : pieces) {
    first = std::min(first, piece.offset);
    last = std::max(last, piece.offset + piece.length);
    sum += piece.length;
  }
  PieceLayout layout;
  layout.span = {first, last - first};
  if (layout.span.length <= sum + tolerated_gaps(sum)) {
    layout.bytes = layout.span.length;
    for (const auto& piece : pieces) layout.offsets.push_back(piece.offset - first);
    return layout;
  }
  layout.bytes = sum;
  std::uint64_t offset = 0;
  for (const auto& piece : pieces) {
    layout.scattered.push_back(piece);
    layout.offsets.push_back(offset);
    offset += piece.length;
  }
  return layout;
}

Buffer gather(io::PieceReader& reader, const std::filesystem::path& file, std::span<const io::Extent> pieces,
              std::uint64_t bytes) {
  Buffer all = loan(bytes);
  std::byte* to = all.writable().data();
  const LendFromHeap pieces_only;
  for (const auto& extent : pieces) {
    const Buffer piece = reader.at(file).read(extent);
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  call_context().tally.copied_bytes += bytes;
  return all;
}

}  // namespace millrace
