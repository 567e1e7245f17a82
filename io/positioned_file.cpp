#include "io/positioned_file.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "io/transfer.h"
#include "pipeline/core/call_context.h"

namespace millrace::io {
namespace {

constexpr auto kMaxOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

ssize_t read_at(int file, std::byte* data, std::uint64_t bytes, std::uint64_t offset, int flags) {
  if (flags == 0) return ::pread(file, data, bytes, static_cast<off_t>(offset));
  const iovec place{data, bytes};
  return ::preadv2(file, &place, 1, static_cast<off_t>(offset), flags);
}

ssize_t write_at(int file, const std::byte* data, std::uint64_t bytes, std::uint64_t offset, int flags) {
  if (flags == 0) return ::pwrite(file, data, bytes, static_cast<off_t>(offset));
  const iovec place{const_cast<std::byte*>(data), bytes};  // NOLINT(cppcoreguidelines-pro-type-const-cast): C's iovec
  return ::pwritev2(file, &place, 1, static_cast<off_t>(offset), flags);
}

}  // namespace

bool fits_a_file(std::uint64_t offset, std::uint64_t length) {
  return offset <= kMaxOffset && length <= kMaxOffset - offset;
}

void require_within(Extent extent, std::uint64_t size, const std::filesystem::path& path) {
  if (fits_a_file(extent.offset, extent.length) && extent.offset + extent.length <= size) return;
  throw Error("truncated: " + std::to_string(extent.length) + " bytes are wanted here, the file has " +
              std::to_string(size) + " in all")
      .at_path(path)
      .at_offset(extent.offset);
}

Error shrunk(std::uint64_t size, const std::filesystem::path& path, std::uint64_t end) {
  return Error("truncated: the file ends here, but had " + std::to_string(size) + " bytes when it was opened")
      .at_path(path)
      .at_offset(end);
}

PositionedReader::PositionedReader(std::filesystem::path path, std::string requested, PositionedAccess access)
    : path_(std::move(path)), file_(open_input(path_)), size_(io::size_of(file_, path_)), flags_(access.flags) {
  stats_.transport_requested = std::move(requested);
  stats_.transport_used = access.transport;
}

Buffer PositionedReader::read(Extent extent) {
  require_within(extent, size_, path_);
  if (extent.length == 0) return {};
  Buffer buffer = loan(extent.length);
  std::byte* const data = buffer.writable().data();
  const Transfer transfer = transfer_all(extent.length, stats_, [&](std::uint64_t done, std::uint64_t bytes) {
    return read_at(file_.get(), data + done, bytes, extent.offset + done, flags_);
  });
  if (transfer.done == extent.length) return buffer;
  const std::uint64_t place = extent.offset + transfer.done;
  if (transfer.error_number == 0) throw shrunk(size_, path_, place);
  throw system_error("cannot read", transfer.error_number).at_path(path_).at_offset(place);
}

PositionedWriter::PositionedWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via,
                                   PositionedAccess access, WriteBehind write_behind)
    : path_(std::move(path)),
      file_(std::move(file)),
      flags_(access.flags),
      write_behind_(std::move(write_behind)),
      room_(via.preallocate_bytes) {
  stats_.transport_requested = via.transport_requested;
  stats_.transport_used = access.transport;
}

void PositionedWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (failure_) throw *failure_;
  if (!fits_a_file(offset, bytes.size())) {
    fail(system_error("cannot write " + std::to_string(bytes.size()) + " bytes", EFBIG).at_offset(offset));
  }
  if (bytes.empty()) return;
  const std::uint64_t end = offset + bytes.size();
  room_.reserve(file_, end);
  const Transfer transfer = transfer_all(bytes.size(), stats_, [&](std::uint64_t done, std::uint64_t length) {
    return write_at(file_.get(), bytes.data() + done, length, offset + done, flags_);
  });
  if (transfer.done != bytes.size()) {
    const std::uint64_t place = offset + transfer.done;
    if (transfer.error_number == EFAULT) {
      fail(Error("cannot write: the bytes come from a mapped file that ended or could not be read").at_offset(place));
    }
    // A write that moves nothing without an error would be repeated for ever; POSIX leaves it to devices that are full.
    fail(system_error("cannot write", transfer.error_number != 0 ? transfer.error_number : ENOSPC).at_offset(place));
  }
  end_ = std::max(end_, end);
  if (const auto failed = write_behind_.wrote(file_.get(), end_, stats_)) {
    fail(system_error("cannot write", failed->error_number).at_offset(failed->offset));
  }
}

void PositionedWriter::flush() {
  if (failure_) throw *failure_;
  cut_surplus();
}

void PositionedWriter::sync() {
  flush();
  ++stats_.fsync_calls;
  while (::fdatasync(file_.get()) != 0) {
    // The kernel reports a lost page once and forgets it (linux_io h): a second fsync that succeeds proves nothing.
    if (errno != EINTR) fail(system_error("cannot sync", errno));
  }
  write_behind_.synced(file_.get(), end_, stats_);
}

IoStats PositionedWriter::stats() const {
  IoStats stats = stats_;
  for (const std::string& refusal : {write_behind_.refusal(), room_.refusal()}) {
    if (!refusal.empty()) stats.detail += (stats.detail.empty() ? "" : ", ") + refusal;
  }
  return stats;
}

void PositionedWriter::cut_surplus() {
  if (room_.reserved_until() <= end_) return;
  while (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) {
    if (errno != EINTR) fail(system_error("cannot give back room that was asked for", errno));
  }
  room_.cut(end_);
}

void PositionedWriter::fail(Error error) {
  failure_ = std::move(error.at_path(path_));
  throw *failure_;
}

}  // namespace millrace::io
