#include "io/piece_reader.h"

#include <algorithm>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

bool has_bytes(const PieceReader::Piece& piece) { return piece.file != nullptr && piece.extent.length != 0; }

std::uint64_t length_of(const std::optional<PieceReader::Piece>& piece) {
  return piece && has_bytes(*piece) ? piece->extent.length : 0;
}

}  // namespace

PieceReader::PieceReader(ReadVia via) : via_(std::move(via)) {}

void PieceReader::prepare(const std::vector<std::filesystem::path>& files, Pieces pieces) {
  settle(via_, files);
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

Buffer PieceReader::read(std::uint64_t index) {
  const auto piece = (*pieces_)(index);
  if (!piece || !has_bytes(*piece)) return {};
  if (alone_->load(std::memory_order_relaxed)) announce_from(index);
  close_before(*piece->file);
  Buffer buffer = at(*piece->file).read(piece->extent);
  if (index < announced_) announced_bytes_ -= piece->extent.length;
  next_ = index + 1;
  return buffer;
}

/// Announces the piece that is about to be read and those after it, as far as the reader wants. A piece is always
/// announced before it is read, so that transfers begin in the order of the pieces.
void PieceReader::announce_from(std::uint64_t index) {
  if (index < next_ || index > announced_) {  // a jump: what was announced before is given up
    announced_ = index;
    announced_bytes_ = 0;
  } else {
    for (; next_ < index; ++next_) announced_bytes_ -= length_of((*pieces_)(next_));  // left out by the caller
  }
  next_ = index;
  const auto first = (*pieces_)(index);
  const Lookahead reach = at(*first->file).lookahead();
  if (reach.reads == 0 && reach.bytes == 0) return;
  for (;;) {
    const std::uint64_t ahead = announced_ - index;  // pieces between the one to be read and the next to announce
    if (ahead > reach.reads && announced_bytes_ >= reach.bytes + first->extent.length) return;
    const auto piece = (*pieces_)(announced_);
    if (!piece) return;
    if (has_bytes(*piece)) at(*piece->file).announce(piece->extent);
    announced_bytes_ += length_of(piece);
    ++announced_;
  }
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
