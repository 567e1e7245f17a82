#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "io/reader.h"
#include "io/writer.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/units.h"

namespace millrace::io {

/// A slow device: every call takes at least `latency` plus bytes / `bytes_per_second`.
struct Throttle {
  std::uint64_t bytes_per_second = 0;  ///< 0 = as fast as the device
  Duration latency{0};                 ///< of each call, sync() included

  bool active() const { return bytes_per_second != 0 || latency.count() != 0; }
};

/// Makes calls last as long as on the device that a Throttle describes. What one sleep overshoots the next call gets
/// back, so the mean rate holds for short calls too; time that the caller spends elsewhere earns nothing.
class Pacer {
 public:
  Pacer(Throttle throttle, Clock& clock) : throttle_(throttle), clock_(clock) {}

  std::int64_t now_ns() { return clock_.now_ns(); }
  /// Sleeps until a call that began at `start_ns` and moved `bytes` may return. Returns at once when the run is to stop
  /// (the stop token of call_context()).
  void wait(std::int64_t start_ns, std::uint64_t bytes);

 private:
  Throttle throttle_;
  Clock& clock_;
  std::int64_t overslept_ns_ = 0;
};

/// Reads through `inner` at the speed of a Throttle.
class ThrottledReader final : public Reader {
 public:
  ThrottledReader(std::unique_ptr<Reader> inner, Throttle throttle, Clock& clock);

  Buffer read(Extent extent) override;
  void announce(Extent extent) override { inner_->announce(extent); }
  std::uint64_t size() const override { return inner_->size(); }
  const std::filesystem::path& path() const override { return inner_->path(); }
  Lookahead lookahead() const override { return inner_->lookahead(); }
  int descriptor() const override { return inner_->descriptor(); }
  IoStats stats() const override { return inner_->stats(); }

 private:
  std::unique_ptr<Reader> inner_;
  Pacer pacer_;
};

/// Writes through `inner` at the speed of a Throttle.
class ThrottledWriter final : public Writer {
 public:
  ThrottledWriter(std::unique_ptr<Writer> inner, Throttle throttle, Clock& clock);

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void submit(std::uint64_t offset, Buffer buffer) override;
  void flush() override;
  void sync() override;
  const std::filesystem::path& path() const override { return inner_->path(); }
  IoStats stats() const override { return inner_->stats(); }

 private:
  std::unique_ptr<Writer> inner_;
  Pacer pacer_;
};

}  // namespace millrace::io
