#include "io/timed.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pipeline/core/call_context.h"

namespace millrace::io {
namespace {

constexpr std::uint64_t kLargeBytes = 256ULL << 10;
constexpr std::uint64_t kUnknownBytes = std::numeric_limits<std::uint64_t>::max();  // a sync: may take seconds

}  // namespace

IoWait::IoWait(Clock& clock, std::uint64_t bytes)
    : clock_(clock),
      large_(bytes >= kLargeBytes),
      not_waiting_before_ns_(not_waiting_ns()),
      start_ns_(clock.now_ns()) {}

IoWait::~IoWait() {
  const std::int64_t wall = wall_ns();
  const std::int64_t not_waiting = not_waiting_ns() - not_waiting_before_ns_;
  call_context().tally.io_wait_ns += std::max<std::int64_t>(0, wall - not_waiting);
}

std::int64_t IoWait::not_waiting_ns() const {
  if (!large_) return clock_.thread_cpu_ns();
  const ThreadUsage usage = clock_.thread_usage();
  return usage.cpu_ns + usage.run_delay_ns;
}

TimedReader::TimedReader(std::unique_ptr<Reader> inner, Clock& clock) : inner_(std::move(inner)), clock_(clock) {}

Buffer TimedReader::read(Extent extent) {
  const IoWait wait(clock_, extent.length);
  return inner_->read(extent);
}

/// A transfer that begins may wait: for memory, for a slot of the queue, or (a warm file) for the copy itself.
void TimedReader::announce(Extent extent) {
  const IoWait wait(clock_, extent.length);
  inner_->announce(extent);
}

TimedWriter::TimedWriter(std::unique_ptr<Writer> inner, Clock& clock) : inner_(std::move(inner)), clock_(clock) {}

void TimedWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const IoWait wait(clock_, bytes.size());
  inner_->write(offset, bytes);
}

void TimedWriter::submit(std::uint64_t offset, Buffer buffer) {
  const IoWait wait(clock_, buffer.size());
  inner_->submit(offset, std::move(buffer));
}

void TimedWriter::flush() {
  const IoWait wait(clock_, kUnknownBytes);
  inner_->flush();
}

void TimedWriter::sync() {
  const IoWait wait(clock_, kUnknownBytes);
  inner_->sync();
  fsync_ns_ += wait.wall_ns();
}

IoStats TimedWriter::stats() const {
  IoStats stats = inner_->stats();
  stats.fsync_ns += fsync_ns_;
  return stats;
}

}  // namespace millrace::io
