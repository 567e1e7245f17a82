#include "io/uring_writer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/direct_file.h"
#include "io/unnamed_file.h"

namespace millrace::io {
namespace {

std::uint32_t depth_of(const WriteVia& via) { return via.depth == 0 ? UringWriter::kUsualDepth : via.depth; }

}  // namespace

UringWriter::UringWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via, bool direct)
    : AlignedWriter(std::move(file), std::move(path), via, direct, direct ? "uring_direct" : "uring", depth_of(via)),
      depth_(depth_of(via)),
      write_behind_(direct ? 0 : via.write_behind_bytes, !direct && via.drop_behind) {}

UringWriter::~UringWriter() {
  Ring* const ring = ring_.last();
  if (ring == nullptr) return;
  for (Write& write : writes_) ring->settle(write.request);
  if (ring->id() == ring_id_) ring->remove_file(ring_file_);
}

/// The ring of this thread, knowing the file.
Ring& UringWriter::ring() {
  Ring& ring = ring_.get();
  if (ring.id() == ring_id_) return ring;
  ring_file_ = ring.add_file(file().get());
  ring_id_ = ring.id();
  return ring;
}

void UringWriter::put(std::uint64_t offset, Buffer blocks) {
  const auto bytes = blocks.bytes();
  start(offset, bytes, std::move(blocks));
  if (direct()) return;
  std::uint64_t written = offset + bytes.size();
  for (const Write& write : writes_) written = std::min(written, write.offset);
  if (const auto lost = write_behind_.wrote(file().get(), written, stats_)) {
    throw write_error(lost->error_number, lost->offset);
  }
}

void UringWriter::synced(std::uint64_t end) { write_behind_.synced(file().get(), end, stats_); }

void UringWriter::put_now(std::uint64_t offset, std::span<const std::byte> blocks) {
  start(offset, blocks, {});
  drain();
}

void UringWriter::start(std::uint64_t offset, std::span<const std::byte> bytes, Buffer owner) {
  while (writes_.size() >= depth_ && !failure_) {
    ring().wait_for_any();
    take_in();
  }
  if (failure_) drain();
  Write& write = writes_.emplace_back();
  write.offset = offset;
  write.bytes = bytes;
  write.owner = std::move(owner);
  ask(write);
}

/// Requests the rest of a write.
void UringWriter::ask(Write& write) {
  constexpr std::size_t kMostBytes = 1ULL << 30;
  const std::size_t bytes = std::min(write.bytes.size(), kMostBytes);
  const bool registered =
      ring().write(write.request, ring_file_, write.bytes.data(), bytes, write.offset, write.owner.block());
  ++stats_.calls;
  stats_.registered_calls += registered ? 1 : 0;
  ring().submit();
}

void UringWriter::drain() {
  while (!writes_.empty()) {
    ring().wait_for_any();
    take_in();
  }
  if (failure_) throw *failure_;
}

/// Looks at every write that has ended.
void UringWriter::take_in() {
  for (auto write = writes_.begin(); write != writes_.end();) {
    write = !write->request.in_flight && take_in(*write) ? writes_.erase(write) : std::next(write);
  }
}

/// True when nothing more is to be done for the write.
bool UringWriter::take_in(Write& write) {
  const std::int64_t result = write.request.result;
  const bool inside_a_block = direct() && result == -EINVAL;
  try {
    if (result < 0 && !inside_a_block && result != -EINTR && result != -ECANCELED) {
      throw write_error(static_cast<int>(-result), write.offset);
    }
    const std::size_t moved = round_down(static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0)), block_bytes());
    write.offset += moved;
    write.bytes = write.bytes.subspan(moved);
    if (write.bytes.empty()) return true;
    ++stats_.retries;
    if (!failure_ && (moved != 0 || result == -EINTR || result == -ECANCELED)) {
      ask(write);
      return false;
    }
    // Cut inside a block, as by a limit of the file's size or by the last free bytes of a disk; or another write has
    // failed, and this one might be the first that did: to the byte it shows where and why.
    write_through_cache(write.offset, write.bytes);
  } catch (const Error& error) {
    if (!failure_ || error.offset() < failure_->offset()) failure_ = error;
  }
  return !write.request.in_flight;
}

std::string UringWriter::detail() const {
  std::string text = std::to_string(depth_) + (depth_ == 1 ? " write in flight" : " writes in flight");
  if (const Ring* const ring = ring_.last()) text += ", " + ring->text();
  if (!write_behind_.refusal().empty()) text += ", " + write_behind_.refusal();
  return text;
}

Probe probe_uring_write(const std::filesystem::path& directory, bool direct) {
  Probe plain = direct ? probe_direct_write(directory) : Probe{};
  if (!plain.works) return plain;
  try {
    const FileDescriptor file = open_scratch(directory);
    if (direct && !set_direct(file, true)) return {false, system_error("direct I/O is refused", errno).message()};
    Probe ring = probe_ring(file);
    return ring.works ? plain : ring;
  } catch (const Error& error) {
    return {false, error.message()};
  }
}

}  // namespace millrace::io
