#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "io/alignment.h"
#include "io/buffer_pool.h"
#include "io/file_descriptor.h"
#include "io/preallocation.h"
#include "io/via.h"
#include "io/writer.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// What the writers share that can write whole blocks only (direct I/O), or that write while their caller goes on.
/// Promises and errors of Writer.
///
/// Appends are the fast path. Where place and memory are aligned, whole blocks are written from the caller's memory;
/// the rest is copied into a block of staging memory (counted in CallTally::copied_bytes), which is written when it is
/// full. flush() writes a part of a block with zeros behind it and then cuts the file to its length. Bytes at any other
/// place go through the page cache, after a flush.
class AlignedWriter : public Writer {
 public:
  /// Size of a block of staging memory; a device with larger blocks gets larger ones.
  static constexpr std::uint64_t kStagingBytes = 4ULL << 20;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) final;
  void submit(std::uint64_t offset, Buffer buffer) final;
  void flush() final;
  void sync() final;
  const std::filesystem::path& path() const final { return path_; }
  IoStats stats() const final;

 protected:
  /// Takes an empty file. Not `direct`: through the page cache, where every place is aligned. `name`: of the transport.
  /// `kept_blocks`: how many staging blocks put() may keep. Error when the file cannot be written directly.
  AlignedWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via, bool direct, std::string name,
                std::uint32_t kept_blocks);

  /// Writes whole blocks to the end of the file; may finish later and keeps the buffer until then. Errors may come from
  /// any later call of the three.
  virtual void put(std::uint64_t offset, Buffer blocks) = 0;
  /// The same, finished when it returns.
  virtual void put_now(std::uint64_t offset, std::span<const std::byte> blocks) = 0;
  /// Everything that was put is in the file.
  virtual void drain() = 0;
  /// Everything up to `end`, which is all of the file, is on the device.
  virtual void synced(std::uint64_t /*end*/) {}
  /// How it ran, for IoStats::detail.
  virtual std::string detail() const = 0;

  bool direct() const { return alignment_.offset > 1; }
  std::uint64_t block_bytes() const { return alignment_.offset; }
  const FileDescriptor& file() const { return file_; }
  /// Why a write failed. errno value 0: it moved nothing and gave no reason, as POSIX allows devices that are full.
  static Error write_error(int reason, std::uint64_t offset);
  /// Writes at any place up to the end of the file, to the byte: what whole blocks cannot express, as the rest of a
  /// piece that was cut short inside a block.
  void write_through_cache(std::uint64_t offset, std::span<const std::byte> bytes);

  IoStats stats_;

 private:
  template <typename Call>
  void or_fail_for_good(Call&& call);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes, const Buffer* owner);
  void append(std::span<const std::byte> bytes, const Buffer* owner);
  void make_room(std::uint64_t end);
  bool worth_direct(std::span<const std::byte> bytes) const;
  std::size_t stage(std::span<const std::byte> bytes);
  void put_staged();
  void load_tail();
  void flush_all();
  void cut_to_size();

  std::filesystem::path path_;
  FileDescriptor file_;
  Alignment alignment_;
  Preallocation preallocation_;
  std::uint64_t staging_bytes_;
  BufferPool pool_;  // of staging blocks
  Buffer staging_;   // the last staged_bytes_ bytes of the file, from a block boundary on
  std::size_t staged_bytes_ = 0;
  bool staged_is_written_ = false;  // what is staged is in the file already
  std::uint64_t size_ = 0;          // of the file, as the caller knows it
  std::uint64_t padded_until_ = 0;  // zeros may lie between size_ and this
  std::uint64_t writes_through_cache_ = 0;
  std::optional<Error> failure_;
};

}  // namespace millrace::io
