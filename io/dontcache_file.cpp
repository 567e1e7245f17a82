#include "io/dontcache_file.h"

#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <cerrno>
#include <utility>

#include "io/unnamed_file.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr int kDontcache = 0x80;  // RWF_DONTCACHE, which the headers of Linux 6.1 do not have
constexpr PositionedAccess kAccess{"dontcache", kDontcache};

Probe refused(int error_number) {
  if (error_number == EOPNOTSUPP) {
    return {false, "the kernel or the file system cannot read and write without caching (RWF_DONTCACHE)"};
  }
  return {false, system_error("RWF_DONTCACHE fails", error_number).message()};
}

}  // namespace

DontcacheReader::DontcacheReader(std::filesystem::path path, std::string requested)
    : PositionedReader(std::move(path), std::move(requested), kAccess) {}

Probe DontcacheReader::probe(const std::filesystem::path& file) try {
  const FileDescriptor opened = open_input(file);
  char byte = 0;
  const iovec place{&byte, 1};
  // At the end of the file: the flag is looked at, no page is fetched.
  if (::preadv2(opened.get(), &place, 1, static_cast<off_t>(size_of(opened, file)), kDontcache) >= 0) return {};
  return refused(errno);
} catch (const Error& error) {
  return {false, error.message()};
}

DontcacheWriter::DontcacheWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via)
    : PositionedWriter(std::move(file), std::move(path), via, kAccess,
                       WriteBehind(via.drop_behind ? via.write_behind_bytes : 0, via.drop_behind)) {}

Probe DontcacheWriter::probe(const std::filesystem::path& directory) try {
  const FileDescriptor scratch = open_scratch(directory);
  char byte = 0;
  const iovec place{&byte, 1};
  if (::pwritev2(scratch.get(), &place, 1, 0, kDontcache) != 1) return refused(errno);
  struct statfs status {};
  if (::fstatfs(scratch.get(), &status) == 0 && status.f_type == EXT4_SUPER_MAGIC) {
    return {true, "on ext4 bytes that are written over stay in the page cache"};
  }
  return {};
} catch (const Error& error) {
  return {false, error.message()};
}

}  // namespace millrace::io
