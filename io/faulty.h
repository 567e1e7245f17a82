#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "io/reader.h"
#include "io/writer.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// A device that fails at a place known beforehand.
struct Fault {
  enum class Kind {
    none,
    eio,       ///< reading or writing the byte at `at_bytes` fails with EIO, like a bad sector
    enospc,    ///< writing the byte at `at_bytes` fails with ENOSPC; what lies before it is written
    truncate,  ///< reading: the file ends at `at_bytes`, although it was longer when it was opened
    fsync,     ///< sync() fails with EIO
  };
  Kind kind = Kind::none;
  std::uint64_t at_bytes = 0;            ///< offset in the file
  std::optional<std::uint64_t> at_call;  ///< instead of a place: call number, from 1 (sync() calls counted apart)

  bool active() const { return kind != Kind::none; }
};

/// Reads through `inner` until the fault is hit. Nothing sticks: like a bad sector, only calls that touch it fail.
class FaultyReader final : public Reader {
 public:
  /// Kinds eio and truncate; others change nothing.
  FaultyReader(std::unique_ptr<Reader> inner, Fault fault);

  Buffer read(Extent extent) override;
  void announce(Extent extent) override { inner_->announce(extent); }
  std::uint64_t size() const override { return inner_->size(); }
  const std::filesystem::path& path() const override { return inner_->path(); }
  Lookahead lookahead() const override { return inner_->lookahead(); }
  int descriptor() const override { return inner_->descriptor(); }
  IoStats stats() const override { return inner_->stats(); }

 private:
  std::unique_ptr<Reader> inner_;
  Fault fault_;
  std::uint64_t calls_ = 0;
};

/// Writes through `inner` until the fault is hit; from then on every call fails with the same error.
class FaultyWriter final : public Writer {
 public:
  /// Kinds eio, enospc and fsync; truncate changes nothing.
  FaultyWriter(std::unique_ptr<Writer> inner, Fault fault);

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void submit(std::uint64_t offset, Buffer buffer) override;
  void flush() override;
  void sync() override;
  const std::filesystem::path& path() const override { return inner_->path(); }
  IoStats stats() const override { return inner_->stats(); }

 private:
  void fail_at_fault(std::uint64_t offset, std::span<const std::byte> bytes);
  [[noreturn]] void fail(Error error);

  std::unique_ptr<Writer> inner_;
  Fault fault_;
  std::uint64_t writes_ = 0;
  std::uint64_t syncs_ = 0;
  std::optional<Error> failure_;
};

}  // namespace millrace::io
