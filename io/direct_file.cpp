#include "io/direct_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/block_progress.h"
#include "io/positioned_file.h"
#include "io/unnamed_file.h"
#include "pipeline/core/buffer.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

FileDescriptor open_direct(const std::filesystem::path& path) {
  FileDescriptor file = open_input(path);  // without O_DIRECT, so that what is no regular file is called that
  if (!set_direct(file, true)) throw system_error("cannot be read directly", errno).at_path(path);
  return file;
}

}  // namespace

DirectReader::DirectReader(std::filesystem::path path, std::string requested)
    : path_(std::move(path)),
      file_(open_direct(path_)),
      size_(io::size_of(file_, path_)),
      alignment_(direct_alignment(file_)) {
  stats_.transport_requested = std::move(requested);
  stats_.transport_used = "direct";
  if (!alignment_.promised) stats_.detail = kNotPromised;
}

Buffer DirectReader::read(Extent extent) {
  require_within(extent, size_, path_);
  if (extent.length == 0) return {};
  const Extent blocks = whole_blocks(extent, alignment_.offset);
  Buffer buffer = loan_aligned(blocks.length, alignment_.memory);
  std::byte* const data = buffer.writable().data();
  BlockProgress progress(blocks, extent.offset + extent.length, alignment_.offset);
  while (!progress.complete()) {
    const Extent next = progress.next();
    const ssize_t moved =
        ::pread(file_.get(), data + (next.offset - blocks.offset), next.length, static_cast<off_t>(next.offset));
    ++stats_.calls;
    if (moved < 0) {
      if (errno != EINTR) {
        const std::uint64_t place = std::max(progress.place(), extent.offset);
        throw system_error("cannot read", errno).at_path(path_).at_offset(place);
      }
      ++stats_.retries;
    } else if (!progress.advance(static_cast<std::uint64_t>(moved))) {
      throw shrunk(size_, path_, std::max(progress.place(), extent.offset));
    } else if (!progress.complete() && static_cast<std::uint64_t>(moved) < next.length) {
      ++stats_.retries;
    }
  }
  stats_.bytes += extent.length;
  buffer.narrow(extent.offset - blocks.offset, extent.length);
  return buffer;
}

DirectWriter::DirectWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via)
    : AlignedWriter(std::move(file), std::move(path), via, true, "direct", 0) {}

void DirectWriter::put_now(std::uint64_t offset, std::span<const std::byte> blocks) {
  while (!blocks.empty()) {
    const ssize_t moved = ::pwrite(file().get(), blocks.data(), blocks.size(), static_cast<off_t>(offset));
    ++stats_.calls;
    if (moved < 0 && errno == EINTR) {
      ++stats_.retries;
      continue;
    }
    if (moved < 0 && errno != EINVAL) throw write_error(errno, offset);
    const std::size_t whole = round_down(static_cast<std::uint64_t>(std::max<ssize_t>(moved, 0)), block_bytes());
    offset += whole;
    blocks = blocks.subspan(whole);
    if (blocks.empty()) return;
    ++stats_.retries;
    if (whole == 0) {
      // Cut inside a block, as by a limit of the file's size or by the last free bytes of a disk: to the byte it shows
      // where and why.
      write_through_cache(offset, blocks);
      return;
    }
  }
}

Probe probe_direct_read(const std::filesystem::path& file) {
  try {
    open_input(file);
  } catch (const Error&) {
    return {};  // whoever opens it will say what is wrong with it
  }
  try {
    DirectReader reader(file);
    reader.read({0, std::min<std::uint64_t>(reader.size(), 1)});
    return {true, reader.stats().detail};
  } catch (const Error& error) {
    return {false, error.message()};
  }
}

Probe probe_direct_write(const std::filesystem::path& directory) {
  try {
    const FileDescriptor file = open_scratch(directory);
    if (!set_direct(file, true)) return {false, system_error("direct I/O is refused", errno).message()};
    const Alignment alignment = direct_alignment(file);
    Buffer block = loan_aligned(alignment.offset, alignment.memory);
    std::memset(block.writable().data(), 0, block.size());
    if (::pwrite(file.get(), block.data(), block.size(), 0) < 0) {
      return {false, system_error("direct writing is refused", errno).message()};
    }
    if (::pread(file.get(), block.writable().data(), block.size(), 0) < 0) {
      return {false, system_error("direct reading is refused", errno).message()};
    }
    return {true, alignment.promised ? "" : kNotPromised};
  } catch (const Error& error) {
    return {false, error.message()};
  }
}

}  // namespace millrace::io
