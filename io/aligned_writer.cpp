#include "io/aligned_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/positioned_file.h"
#include "io/transfer.h"
#include "pipeline/core/call_context.h"

namespace millrace::io {
namespace {

// Below this, whole blocks are staged too: a copy of 64 KiB costs less than a request of its own to the device.
constexpr std::size_t kWorthDirectBytes = 64 << 10;

}  // namespace

AlignedWriter::AlignedWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via, bool direct,
                             std::string name, std::uint32_t kept_blocks)
    : path_(std::move(path)),
      file_(std::move(file)),
      alignment_(direct ? direct_alignment(file_) : Alignment::none()),
      preallocation_(via.preallocate_bytes),
      staging_bytes_(direct ? std::max<std::uint64_t>(kStagingBytes, alignment_.offset) : 0),
      pool_(staging_bytes_, direct ? kept_blocks + 1 : 0) {
  stats_.transport_requested = via.transport_requested;
  stats_.transport_used = std::move(name);
  if (direct && !set_direct(file_, true)) throw system_error("cannot be written directly", errno).at_path(path_);
}

/// The kernel reports a lost page once and forgets it (linux_io h), and blocks under way may be lost too: after any
/// failure nothing that this writer said about the file holds.
template <typename Call>
void AlignedWriter::or_fail_for_good(Call&& call) {
  if (failure_) throw *failure_;
  try {
    call();
  } catch (Error& error) {
    failure_ = error.at_path(path_);
    throw *failure_;
  }
}

void AlignedWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) { write_at(offset, bytes, nullptr); }

void AlignedWriter::submit(std::uint64_t offset, Buffer buffer) { write_at(offset, buffer.bytes(), &buffer); }

void AlignedWriter::write_at(std::uint64_t offset, std::span<const std::byte> bytes, const Buffer* owner) {
  or_fail_for_good([&] {
    if (!fits_a_file(offset, round_up(bytes.size(), block_bytes()))) {
      throw system_error("cannot write " + std::to_string(bytes.size()) + " bytes", EFBIG).at_offset(offset);
    }
    if (bytes.empty()) return;
    if (offset == size_) {
      append(bytes, owner);
    } else {
      flush_all();
      size_ = std::max(size_, offset + bytes.size());
      write_through_cache(offset, bytes);
      // What is staged may be out of date now: the next append gets it from the file.
      staging_.release();
      staged_bytes_ = 0;
    }
    stats_.bytes += bytes.size();
  });
}

void AlignedWriter::append(std::span<const std::byte> bytes, const Buffer* owner) {
  load_tail();
  make_room(size_ + bytes.size());
  while (!bytes.empty()) {
    if (staged_bytes_ != 0 || !worth_direct(bytes)) {
      bytes = bytes.subspan(stage(bytes));
      continue;
    }
    const std::size_t whole = round_down(bytes.size(), block_bytes());
    const std::uint64_t offset = size_;
    size_ += whole;
    padded_until_ = std::max(padded_until_, size_);
    if (owner != nullptr) {
      put(offset, owner->slice(static_cast<std::size_t>(bytes.data() - owner->data()), whole));
    } else {
      put_now(offset, bytes.first(whole));
    }
    bytes = bytes.subspan(whole);
  }
}

/// Room on the device, where it is wanted. The size goes with it until the next flush: direct writes that make a file
/// longer take turns in a thread of the kernel, those inside it run side by side.
void AlignedWriter::make_room(std::uint64_t end) {
  preallocation_.reserve(file_, end);
  const std::uint64_t until = preallocation_.reserved_until();
  if (!direct() || until < end || until <= padded_until_) return;
  if (::ftruncate(file_.get(), static_cast<off_t>(until)) == 0) padded_until_ = until;
}

/// Whether bytes that belong at a block boundary are written from where they are.
bool AlignedWriter::worth_direct(std::span<const std::byte> bytes) const {
  if (!direct()) return true;
  return bytes.size() >= kWorthDirectBytes && is_aligned(bytes.data(), alignment_.memory);
}

/// Copies bytes into the staging block, and puts it when it is full, or when what follows can go without it. Returns
/// how many.
std::size_t AlignedWriter::stage(std::span<const std::byte> bytes) {
  if (staging_.empty()) staging_ = pool_.lend(staging_bytes_);
  const std::size_t to_boundary = round_up(staged_bytes_, block_bytes()) - staged_bytes_;
  std::size_t count = std::min(bytes.size(), staging_.size() - staged_bytes_);
  const bool leave = staged_bytes_ != 0 && to_boundary < bytes.size() && worth_direct(bytes.subspan(to_boundary));
  if (leave) count = to_boundary;
  std::memcpy(staging_.writable().data() + staged_bytes_, bytes.data(), count);
  call_context().tally.copied_bytes += count;
  staged_bytes_ += count;
  size_ += count;
  if (count != 0) staged_is_written_ = false;
  if (leave || staged_bytes_ == staging_.size()) put_staged();
  return count;
}

/// Gives whole blocks of staging memory away.
void AlignedWriter::put_staged() {
  Buffer blocks = std::exchange(staging_, {});
  blocks.resize(std::exchange(staged_bytes_, 0));
  padded_until_ = std::max(padded_until_, size_);
  const std::uint64_t offset = size_ - blocks.size();
  put(offset, std::move(blocks));
}

/// Brings the part of a block that the file ends in back into staging memory, unless it is there.
void AlignedWriter::load_tail() {
  const auto bytes = static_cast<std::size_t>(size_ & (block_bytes() - 1));
  if (bytes == 0 || staged_bytes_ != 0) return;
  staging_ = pool_.lend(staging_bytes_);
  const std::uint64_t begin = size_ - bytes;
  ssize_t moved = 0;
  do {
    // One whole block, which direct I/O can read; it comes short, because the file ends in it.
    moved = ::pread(file_.get(), staging_.writable().data(), block_bytes(), static_cast<off_t>(begin));
  } while (moved < 0 && errno == EINTR);
  if (moved < 0) throw system_error("cannot read back what was written", errno).at_offset(begin);
  if (static_cast<std::size_t>(moved) != bytes) {
    throw Error("was changed by somebody else while it was written").at_offset(begin);
  }
  staged_bytes_ = bytes;
  staged_is_written_ = true;
}

void AlignedWriter::flush() {
  or_fail_for_good([this] { flush_all(); });
}

void AlignedWriter::flush_all() {
  drain();
  if (staged_bytes_ != 0 && !staged_is_written_) {
    const std::size_t padded = round_up(staged_bytes_, block_bytes());
    std::memset(staging_.writable().data() + staged_bytes_, 0, padded - staged_bytes_);
    const std::uint64_t begin = size_ - staged_bytes_;
    put_now(begin, staging_.bytes().first(padded));
    padded_until_ = std::max(padded_until_, begin + padded);
    // Only the part of a block is needed for what comes next.
    const std::size_t whole = round_down(staged_bytes_, block_bytes());
    staged_bytes_ -= whole;
    std::memmove(staging_.writable().data(), staging_.data() + whole, staged_bytes_);
    staged_is_written_ = true;
  }
  cut_to_size();
}

/// Takes away the zeros behind the last byte, and room that was asked for in vain.
void AlignedWriter::cut_to_size() {
  if (padded_until_ <= size_ && preallocation_.reserved_until() <= size_) return;
  for (;;) {
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0) break;
    if (errno != EINTR) throw system_error("cannot cut to its length", errno).at_offset(size_);
  }
  padded_until_ = size_;
  preallocation_.cut(size_);
}

Error AlignedWriter::write_error(int reason, std::uint64_t offset) {
  Error error = reason == EFAULT
                    ? Error("cannot write: the bytes come from a mapped file that ended or could not be read")
                    : system_error("cannot write", reason == 0 ? ENOSPC : reason);
  error.at_offset(offset);
  return error;
}

void AlignedWriter::write_through_cache(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (direct() && !set_direct(file_, false)) throw system_error("cannot leave direct I/O", errno);
  bytes = bytes.first(std::min(bytes.size(), size_ - offset));
  ++writes_through_cache_;
  const std::uint64_t before = stats_.bytes;
  const Transfer transfer = transfer_all(bytes.size(), stats_, [&](std::uint64_t done, std::uint64_t length) {
    return ::pwrite(file_.get(), bytes.data() + done, length, static_cast<off_t>(offset + done));
  });
  stats_.bytes = before;  // counted by those who take the bytes in
  if (transfer.done < bytes.size()) throw write_error(transfer.error_number, offset + transfer.done);
  if (direct() && !set_direct(file_, true)) throw system_error("cannot go back to direct I/O", errno);
}

void AlignedWriter::sync() {
  or_fail_for_good([this] {
    flush_all();
    ++stats_.fsync_calls;
    while (::fdatasync(file_.get()) != 0) {
      if (errno != EINTR) throw system_error("cannot sync", errno);
    }
    synced(size_);
  });
}

IoStats AlignedWriter::stats() const {
  IoStats stats = stats_;
  const auto add = [&stats](const std::string& clause) {
    if (!clause.empty()) stats.detail += (stats.detail.empty() ? "" : ", ") + clause;
  };
  add(detail());
  if (direct() && writes_through_cache_ != 0) {
    add(std::to_string(writes_through_cache_) + " of the writes through the page cache");
  }
  if (!alignment_.promised) add(kNotPromised);
  add(preallocation_.refusal());
  return stats;
}

}  // namespace millrace::io
