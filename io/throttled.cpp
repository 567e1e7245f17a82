#include "io/throttled.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pipeline/core/call_context.h"

namespace millrace::io {
namespace {

constexpr double kNsPerSecond = 1e9;
// A machine that was suspended must not make up for it with seconds of full speed.
constexpr std::int64_t kMostGivenBackNs = 50'000'000;

std::int64_t duration_ns(const Throttle& throttle, std::uint64_t bytes) {
  std::int64_t ns = throttle.latency.count();
  if (throttle.bytes_per_second != 0) {
    ns += std::llround(static_cast<double>(bytes) * kNsPerSecond / static_cast<double>(throttle.bytes_per_second));
  }
  return ns;
}

}  // namespace

void Pacer::wait(std::int64_t start_ns, std::uint64_t bytes) {
  const std::int64_t until = start_ns + duration_ns(throttle_, bytes);
  const std::int64_t owed = std::max<std::int64_t>(0, until - clock_.now_ns());
  const std::int64_t given_back = std::min(owed, overslept_ns_);
  overslept_ns_ -= given_back;
  if (owed == given_back) return;
  const std::int64_t deadline = until - given_back;
  if (!clock_.sleep_until(deadline, call_context().stop)) return;
  overslept_ns_ = std::min(clock_.now_ns() - deadline, kMostGivenBackNs);
}

ThrottledReader::ThrottledReader(std::unique_ptr<Reader> inner, Throttle throttle, Clock& clock)
    : inner_(std::move(inner)), pacer_(throttle, clock) {}

Buffer ThrottledReader::read(Extent extent) {
  const std::int64_t start = pacer_.now_ns();
  Buffer buffer = inner_->read(extent);
  pacer_.wait(start, extent.length);
  return buffer;
}

ThrottledWriter::ThrottledWriter(std::unique_ptr<Writer> inner, Throttle throttle, Clock& clock)
    : inner_(std::move(inner)), pacer_(throttle, clock) {}

void ThrottledWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::int64_t start = pacer_.now_ns();
  inner_->write(offset, bytes);
  pacer_.wait(start, bytes.size());
}

void ThrottledWriter::submit(std::uint64_t offset, Buffer buffer) {
  const std::int64_t start = pacer_.now_ns();
  const std::uint64_t bytes = buffer.size();
  inner_->submit(offset, std::move(buffer));
  pacer_.wait(start, bytes);
}

void ThrottledWriter::flush() { inner_->flush(); }

void ThrottledWriter::sync() {
  const std::int64_t start = pacer_.now_ns();
  inner_->sync();
  pacer_.wait(start, 0);
}

}  // namespace millrace::io
