#include "io/faulty.h"

#include <cerrno>
#include <utility>

namespace millrace::io {
namespace {

/// Whether call number `call` (from 1) on [offset, offset + length) is the one that fails.
bool hits(const Fault& fault, std::uint64_t call, std::uint64_t offset, std::uint64_t length) {
  if (fault.at_call) return call == *fault.at_call;
  return fault.at_bytes >= offset && fault.at_bytes - offset < length;
}

}  // namespace

FaultyReader::FaultyReader(std::unique_ptr<Reader> inner, Fault fault) : inner_(std::move(inner)), fault_(fault) {}

Buffer FaultyReader::read(Extent extent) {
  ++calls_;
  if (fault_.kind == Fault::Kind::eio && hits(fault_, calls_, extent.offset, extent.length)) {
    const std::uint64_t place = fault_.at_call ? extent.offset : fault_.at_bytes;
    throw system_error("cannot read", EIO).at_path(path()).at_offset(place);
  }
  if (fault_.kind == Fault::Kind::truncate) {
    const bool beyond = extent.length != 0 && extent.offset + extent.length > fault_.at_bytes;
    if (fault_.at_call ? calls_ == *fault_.at_call : beyond) {
      throw Error("truncated: the file ends here, but had " + std::to_string(size()) + " bytes when it was opened")
          .at_path(path())
          .at_offset(fault_.at_call ? extent.offset : fault_.at_bytes);
    }
  }
  return inner_->read(extent);
}

FaultyWriter::FaultyWriter(std::unique_ptr<Writer> inner, Fault fault) : inner_(std::move(inner)), fault_(fault) {}

void FaultyWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (failure_) throw *failure_;
  ++writes_;
  fail_at_fault(offset, bytes);
  inner_->write(offset, bytes);
}

/// When the fault is in this write: writes what lies before it, and fails.
void FaultyWriter::fail_at_fault(std::uint64_t offset, std::span<const std::byte> bytes) {
  const bool breaks_writes = fault_.kind == Fault::Kind::eio || fault_.kind == Fault::Kind::enospc;
  if (breaks_writes && hits(fault_, writes_, offset, bytes.size())) {
    const std::uint64_t place = fault_.at_call ? offset : fault_.at_bytes;
    inner_->write(offset, bytes.first(static_cast<std::size_t>(place - offset)));
    fail(system_error("cannot write", fault_.kind == Fault::Kind::eio ? EIO : ENOSPC).at_offset(place));
  }
}

void FaultyWriter::submit(std::uint64_t offset, Buffer buffer) {
  if (failure_) throw *failure_;
  ++writes_;
  fail_at_fault(offset, buffer.bytes());
  inner_->submit(offset, std::move(buffer));
}

void FaultyWriter::flush() {
  if (failure_) throw *failure_;
  inner_->flush();
}

void FaultyWriter::sync() {
  if (failure_) throw *failure_;
  ++syncs_;
  if (fault_.kind == Fault::Kind::fsync && syncs_ == fault_.at_call.value_or(1)) {
    fail(system_error("cannot sync", EIO));
  }
  inner_->sync();
}

void FaultyWriter::fail(Error error) {
  failure_ = std::move(error.at_path(path()));
  throw *failure_;
}

}  // namespace millrace::io
