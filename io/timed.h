#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "io/reader.h"
#include "io/writer.h"
#include "pipeline/core/clock.h"

namespace millrace::io {

/// Adds the time from its making to its end, minus what the thread computed or queued for a core meanwhile, to
/// call_context().tally.io_wait_ns: the time that the thread waited for a device. Also when the scope is left by an
/// exception.
class IoWait {
 public:
  /// `bytes`: what the call will move. Below 256 KiB the time in the run queue is not asked for (it costs about 1 us, a
  /// cached read of 4 KiB takes 1 us) and counts as waiting.
  IoWait(Clock& clock, std::uint64_t bytes);
  IoWait(const IoWait&) = delete;
  IoWait& operator=(const IoWait&) = delete;
  ~IoWait();

  std::int64_t wall_ns() const { return clock_.now_ns() - start_ns_; }

 private:
  std::int64_t not_waiting_ns() const;

  Clock& clock_;
  bool large_;
  std::int64_t not_waiting_before_ns_;
  std::int64_t start_ns_;
};

/// Reads through `inner` and accounts the waiting (IoWait). The outermost decorator.
class TimedReader final : public Reader {
 public:
  TimedReader(std::unique_ptr<Reader> inner, Clock& clock);

  Buffer read(Extent extent) override;
  void announce(Extent extent) override;
  std::uint64_t size() const override { return inner_->size(); }
  const std::filesystem::path& path() const override { return inner_->path(); }
  Lookahead lookahead() const override { return inner_->lookahead(); }
  int descriptor() const override { return inner_->descriptor(); }
  IoStats stats() const override { return inner_->stats(); }

 private:
  std::unique_ptr<Reader> inner_;
  Clock& clock_;
};

/// Writes through `inner` and accounts the waiting; the time of sync() is in stats().fsync_ns too (wall).
class TimedWriter final : public Writer {
 public:
  TimedWriter(std::unique_ptr<Writer> inner, Clock& clock);

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void submit(std::uint64_t offset, Buffer buffer) override;
  void flush() override;
  void sync() override;
  const std::filesystem::path& path() const override { return inner_->path(); }
  IoStats stats() const override;

 private:
  std::unique_ptr<Writer> inner_;
  Clock& clock_;
  std::int64_t fsync_ns_ = 0;
};

}  // namespace millrace::io
