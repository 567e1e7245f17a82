#include "io/uring_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/direct_file.h"
#include "io/positioned_file.h"
#include "pipeline/core/call_context.h"

namespace millrace::io {
namespace {

constexpr std::uint64_t kLeastRequestBytes = 1ULL << 20;
constexpr std::uint64_t kMostRequestBytes = 1ULL << 30;

bool same(Extent a, Extent b) { return a.offset == b.offset && a.length == b.length; }

}  // namespace

UringReader::UringReader(std::filesystem::path path, const ReadVia& via, bool direct,
                         std::shared_ptr<RingSession> session)
    : path_(std::move(path)),
      file_(open_input(path_)),
      size_(io::size_of(file_, path_)),
      alignment_(direct ? direct_alignment(file_) : Alignment::none()),
      depth_(via.depth == 0 ? kUsualDepth : via.depth),
      request_bytes_(round_up(std::clamp(via.block_bytes, kLeastRequestBytes, kMostRequestBytes), alignment_.offset)),
      session_(session != nullptr ? std::move(session) : std::make_shared<RingSession>()),
      ring_file_{file_.get(), std::nullopt} {
  stats_.transport_requested = via.transport_requested;
  stats_.transport_used = direct ? "uring_direct" : "uring";
  if (direct && !set_direct(file_, true)) throw system_error("cannot be read directly", errno).at_path(path_);
}

UringReader::~UringReader() {
  for (const auto& transfer : announced_) give_up(*transfer);
  Ring* const ring = session_->ring().last();
  if (ring != nullptr && ring->id() == ring_id_) ring->remove_file(ring_file_);
}

/// The ring of this thread, knowing the file.
Ring& UringReader::ring() {
  Ring& ring = session_->ring().get();
  if (ring.id() == ring_id_) return ring;
  ring_file_ = ring.add_file(file_.get());
  ring_id_ = ring.id();
  return ring;
}

void UringReader::announce(Extent extent) {
  // More than this the caller does not wait for: it has changed its mind about the oldest.
  while (announced_.size() >= depth_) {
    give_up(*announced_.front());
    announced_.pop_front();
  }
  try {
    announced_.push_back(begin(extent));
  } catch (const Error&) {  // read() will try again and throw it
    announced_.push_back(std::make_unique<Transfer>());
    announced_.back()->extent = extent;
  }
}

Buffer UringReader::read(Extent extent) {
  try {
    const auto transfer = take(extent);
    finish(*transfer);
    stats_.bytes += extent.length;
    if (extent.length != 0) transfer->buffer.narrow(extent.offset - transfer->begin, extent.length);
    return std::move(transfer->buffer);
  } catch (Error& error) {  // the ring knows no files
    error.at_path(path_).at_offset(extent.offset);
    throw;
  }
}

/// The reading of an extent, under way: as it was announced, or begun now.
std::unique_ptr<UringReader::Transfer> UringReader::take(Extent extent) {
  const auto found = std::find_if(announced_.begin(), announced_.end(),
                                  [extent](const auto& transfer) { return same(transfer->extent, extent); });
  if (found == announced_.end()) return begin(extent);
  for (auto skipped = announced_.begin(); skipped != found; ++skipped) give_up(**skipped);
  auto transfer = std::move(*found);
  announced_.erase(announced_.begin(), found + 1);
  return transfer->parts.empty() ? begin(extent) : std::move(transfer);
}

/// Starts the reading of an extent; without parts when there is nothing to read.
std::unique_ptr<UringReader::Transfer> UringReader::begin(Extent extent) {
  require_within(extent, size_, path_);
  auto transfer = std::make_unique<Transfer>();
  transfer->extent = extent;
  if (extent.length == 0) return transfer;
  const Extent blocks = whole_blocks(extent, alignment_.offset);
  transfer->begin = blocks.offset;
  transfer->buffer = loan_aligned(blocks.length, alignment_.memory);
  const std::uint64_t end = blocks.offset + blocks.length;
  try {
    for (std::uint64_t place = blocks.offset; place < end; place += request_bytes_) {
      const Extent some{place, std::min(request_bytes_, end - place)};
      ask(*transfer, transfer->parts.emplace_back(some, extent.offset + extent.length, alignment_.offset));
    }
    ring().submit();
  } catch (...) {
    give_up(*transfer);
    throw;
  }
  return transfer;
}

/// Queues a request for what a part lacks.
void UringReader::ask(Transfer& transfer, Part& part) {
  Ring& ring = this->ring();
  part.asked = part.progress.next();
  std::byte* const memory = transfer.buffer.writable().data() + (part.asked.offset - transfer.begin);
  const bool registered =
      ring.read(part.request, ring_file_, memory, part.asked.length, part.asked.offset, transfer.buffer.block());
  ++stats_.calls;
  stats_.registered_calls += registered ? 1 : 0;
}

void UringReader::finish(Transfer& transfer) {
  try {
    for (Part& part : transfer.parts) finish(transfer, part);
  } catch (...) {
    give_up(transfer);
    throw;
  }
}

void UringReader::finish(Transfer& transfer, Part& part) {
  for (;;) {
    // A request of a ring that went away with its thread has ended already.
    if (part.request.in_flight) session_->ring().get().wait(part.request);
    const std::int64_t result = part.request.result;
    if (result >= 0) {
      if (!part.progress.advance(static_cast<std::uint64_t>(result))) {
        throw shrunk(size_, path_, std::max(part.progress.place(), transfer.extent.offset));
      }
      if (part.progress.complete()) return;
      if (static_cast<std::uint64_t>(result) < part.asked.length) ++stats_.retries;
    } else if (result == -EINTR || result == -ECANCELED) {
      ++stats_.retries;
    } else {
      const std::uint64_t place = std::max(part.progress.place(), transfer.extent.offset);
      throw system_error("cannot read", static_cast<int>(-result)).at_path(path_).at_offset(place);
    }
    ask(transfer, part);
    ring().submit();
  }
}

/// Afterwards nothing is written into the buffer any more.
void UringReader::give_up(Transfer& transfer) noexcept {
  Ring* const ring = session_->ring().last();
  for (Part& part : transfer.parts) {
    if (part.request.in_flight) ring->settle(part.request);
  }
}

IoStats UringReader::stats() const {
  IoStats stats = stats_;
  stats.detail = std::to_string(depth_) + (depth_ == 1 ? " read in flight" : " reads in flight");
  if (const Ring* const ring = session_->ring().last()) stats.detail += ", " + ring->text();
  if (!alignment_.promised) stats.detail += std::string(", ") + kNotPromised;
  return stats;
}

Probe probe_uring_read(const std::filesystem::path& file, bool direct) {
  Probe plain = direct ? probe_direct_read(file) : Probe{};
  if (!plain.works) return plain;
  FileDescriptor opened;
  try {
    opened = open_input(file);
  } catch (const Error&) {
    return {};  // whoever opens it will say what is wrong with it
  }
  if (direct && !set_direct(opened, true)) return {false, system_error("direct I/O is refused", errno).message()};
  Probe ring = probe_ring(opened);
  return ring.works ? plain : ring;
}

}  // namespace millrace::io
