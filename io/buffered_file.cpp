#include "io/buffered_file.h"

#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "io/transfer.h"
#include "pipeline/core/call_context.h"

namespace millrace::io {
namespace {

constexpr auto kMaxOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

bool fits_a_file(std::uint64_t offset, std::uint64_t length) {
  return offset <= kMaxOffset && length <= kMaxOffset - offset;
}

}  // namespace

BufferedReader::BufferedReader(std::filesystem::path path, std::string requested)
    : path_(std::move(path)), file_(open_input(path_)), size_(io::size_of(file_, path_)) {
  stats_.transport_requested = std::move(requested);
  stats_.transport_used = "buffered";
}

Buffer BufferedReader::read(Extent extent) {
  // An extent that lies beyond the file comes from a corrupt index: refuse it before memory for it is asked for.
  if (!fits_a_file(extent.offset, extent.length) || extent.offset + extent.length > size_) {
    throw Error("truncated: " + std::to_string(extent.length) + " bytes are wanted here, the file has " +
                std::to_string(size_) + " in all")
        .at_path(path_)
        .at_offset(extent.offset);
  }
  if (extent.length == 0) return {};
  Buffer buffer = loan(extent.length);
  std::byte* const data = buffer.writable().data();
  const Transfer transfer = transfer_all(extent.length, stats_, [&](std::uint64_t done, std::uint64_t bytes) {
    return ::pread(file_.get(), data + done, bytes, static_cast<off_t>(extent.offset + done));
  });
  if (transfer.done == extent.length) return buffer;
  const std::uint64_t place = extent.offset + transfer.done;
  if (transfer.error_number != 0) {
    throw system_error("cannot read", transfer.error_number).at_path(path_).at_offset(place);
  }
  throw Error("truncated: the file ends here, but had " + std::to_string(size_) + " bytes when it was opened")
      .at_path(path_)
      .at_offset(place);
}

BufferedWriter::BufferedWriter(FileDescriptor file, std::filesystem::path path, std::string requested)
    : path_(std::move(path)), file_(std::move(file)) {
  stats_.transport_requested = std::move(requested);
  stats_.transport_used = "buffered";
}

void BufferedWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (failure_) throw *failure_;
  if (!fits_a_file(offset, bytes.size())) {
    fail(system_error("cannot write " + std::to_string(bytes.size()) + " bytes", EFBIG).at_offset(offset));
  }
  const Transfer transfer = transfer_all(bytes.size(), stats_, [&](std::uint64_t done, std::uint64_t length) {
    return ::pwrite(file_.get(), bytes.data() + done, length, static_cast<off_t>(offset + done));
  });
  if (transfer.done == bytes.size()) return;
  // A write that moves nothing without an error would be repeated for ever; POSIX leaves it to devices that are full.
  const int reason = transfer.error_number != 0 ? transfer.error_number : ENOSPC;
  fail(system_error("cannot write", reason).at_offset(offset + transfer.done));
}

void BufferedWriter::sync() {
  if (failure_) throw *failure_;
  ++stats_.fsync_calls;
  for (;;) {
    if (::fdatasync(file_.get()) == 0) return;
    // The kernel reports a lost page once and forgets it (linux_io h): a second fsync that succeeds proves nothing.
    if (errno != EINTR) fail(system_error("cannot sync", errno));
  }
}

void BufferedWriter::fail(Error error) {
  failure_ = std::move(error.at_path(path_));
  throw *failure_;
}

}  // namespace millrace::io
