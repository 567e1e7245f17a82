#include "io/piece_reader.h"

#include <algorithm>
#include <utility>

#include "io/transports.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::uint64_t kGroupBytes = 1 << 20;
constexpr std::uint64_t kGroupGap = 16 << 10;

bool has_bytes(const PieceReader::Piece& piece) { return piece.file != nullptr && piece.extent.length != 0; }

}  // namespace

PieceReader::PieceReader(ReadVia via) : via_(std::move(via)) {}

void PieceReader::prepare(const std::vector<std::filesystem::path>& files, Pieces pieces, Grouping grouping) {
  settle(via_, files);
  grouping_ = grouping == Grouping::neighbours && !find_transport(via_.transport)->cached;
  pieces_ = std::make_shared<const Pieces>(std::move(pieces));
}

void PieceReader::prepare_like(const PieceReader& first) {
  if (first.via_.depth > 1) {
    throw config_error("'via.depth' above 1 needs slots = 1: both give reads in flight, one of them is enough");
  }
  if (first.via_.advice.kind == AdvicePolicy::Kind::willneed &&
      first.via_.advice.scope == AdvicePolicy::Scope::window) {
    throw config_error("advice = \"willneed\" needs slots = 1: with more, no slot knows which extent comes next");
  }
  via_ = first.via_;
  via_.depth = 1;
  pieces_ = first.pieces_;
  alone_ = first.alone_;
  alone_->store(false, std::memory_order_relaxed);
}

BufferNeeds PieceReader::buffer_needs() const {
  BufferNeeds needs = io::buffer_needs(via_);
  if (grouping_) {
    ++needs.held;
    needs.padding_bytes += kGroupBytes;
  }
  return needs;
}

Buffer PieceReader::read(std::uint64_t index) {
  const auto piece = (*pieces_)(index);
  if (!piece || !has_bytes(*piece)) return {};
  if (current_bytes_.empty() || index < current_.first || index >= current_.end) {
    current_bytes_.release();
    if (alone_->load(std::memory_order_relaxed)) announce_from(index);
    current_ = take(index);
    close_before(*current_.file);
    current_bytes_ = at(*current_.file).read(current_.extent);
  }
  Buffer buffer = index + 1 == current_.end ? std::move(current_bytes_) : current_bytes_;
  buffer.narrow(piece->extent.offset - current_.extent.offset, piece->extent.length);
  return buffer;
}

/// The group that begins with a piece that has bytes.
PieceReader::Group PieceReader::group_from(std::uint64_t index) const {
  const auto first = (*pieces_)(index);
  Group group{index, index + 1, first->file, first->extent};
  if (!grouping_ || !alone_->load(std::memory_order_relaxed)) return group;
  for (std::uint64_t next = index + 1;; ++next) {
    const auto piece = (*pieces_)(next);
    if (!piece) return group;
    if (!has_bytes(*piece)) continue;
    const std::uint64_t end = group.extent.offset + group.extent.length;
    if (*piece->file != *group.file || piece->extent.offset < end || piece->extent.offset - end > kGroupGap)
      return group;
    const std::uint64_t length = piece->extent.offset + piece->extent.length - group.extent.offset;
    if (length > kGroupBytes) return group;
    group.end = next + 1;
    group.extent.length = length;
  }
}

/// Announces the group that is about to be read and those after it, as far as the reader wants. A group is always
/// announced before it is read, so that transfers begin in order.
void PieceReader::announce_from(std::uint64_t index) {
  while (!announced_.empty() && announced_.front().end <= index) announced_.pop_front();  // left out by the caller
  if (announced_.empty() || index < announced_.front().first) {  // a jump: the reader gives up what it was told before
    announced_.clear();
    next_ = index;
  }
  std::uint64_t bytes = 0;
  for (const Group& group : announced_) bytes += group.extent.length;
  const Lookahead reach = at(*(*pieces_)(index)->file).lookahead();
  if (reach.reads == 0 && reach.bytes == 0) return;
  while (announced_.empty() || announced_.size() <= reach.reads ||
         bytes < reach.bytes + announced_.front().extent.length) {
    auto piece = (*pieces_)(next_);
    while (piece && !has_bytes(*piece)) piece = (*pieces_)(++next_);
    if (!piece) return;
    const Group group = group_from(next_);
    try {
      at(*group.file).announce(group.extent);
    } catch (const Error&) {
      return;  // a later file cannot be opened: its own read() will say so
    }
    announced_.push_back(group);
    bytes += group.extent.length;
    next_ = group.end;
  }
}

/// The group to read for a piece: as it was announced, or made now.
PieceReader::Group PieceReader::take(std::uint64_t index) {
  if (announced_.empty() || index < announced_.front().first || index >= announced_.front().end) {
    return group_from(index);
  }
  const Group group = announced_.front();
  announced_.pop_front();
  return group;
}

Reader& PieceReader::at(const std::filesystem::path& path) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one->path() == path; });
  if (found != open_.end()) return **found;
  if (session_ == nullptr) session_ = open_session(via_);
  return *open_.emplace_back(open_reader(path, via_, session_));
}

/// Readers stand in the order in which their files come: those in front of this one have done their work.
void PieceReader::close_before(const std::filesystem::path& path) {
  if (open_.size() < 2 || open_.front()->path() == path) return;
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one->path() == path; });
  if (found == open_.end() || found == open_.begin()) return;
  for (auto done = open_.begin(); done != found; ++done) closed_.add((*done)->stats());
  open_.erase(open_.begin(), found);
}

IoStats PieceReader::stats() const {
  IoStats stats = closed_;
  stats.transport_requested = via_.transport_requested;
  stats.transport_used = via_.transport;
  for (const auto& reader : open_) stats.add(reader->stats());
  return stats;
}

}  // namespace millrace::io
