#include "io/unpublished_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "io/unnamed_file.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

namespace fs = std::filesystem;

fs::path temporary_for(const fs::path& target) {
  static std::atomic<std::uint64_t> count{0};
  constexpr std::size_t kMostOfName = 180;  // file names have at most 255 bytes
  const std::string name = target.filename().string().substr(0, kMostOfName);
  return target.parent_path() / ("." + name + "." + std::to_string(::getpid()) + "-" +
                                 std::to_string(count.fetch_add(1, std::memory_order_relaxed)) + ".tmp");
}

/// Better to know it now than when the output of hours is complete.
bool can_be_named(const fs::path& target) {
  const FileDescriptor other = open_unnamed(target.parent_path());
  const fs::path name = temporary_for(target);
  const LiveTemporary live(name);
  if (!other.valid() || !link_unnamed(other, name)) return false;
  ::unlink(name.c_str());
  return true;
}

[[noreturn]] void throw_unnameable(const fs::path& path, int reason) {
  throw system_error("cannot give the finished file its name", reason).at_path(path);
}

}  // namespace

UnpublishedFile::UnpublishedFile(const fs::path& target, Road wanted) : target_(target) {
  if (wanted == Road::unnamed) {
    file_ = open_unnamed(target.parent_path());
    if (file_.valid() && can_be_named(target)) return;
  }
  make_named();
}

UnpublishedFile::~UnpublishedFile() {
  // In this order: FUSE keeps a file that is open when it loses its name under another one, and NFS too.
  file_.close();
  if (!name_.empty()) ::unlink(name_.c_str());
}

void UnpublishedFile::make_named() {
  fs::path name = temporary_for(target_);
  // On the list first: a file that is not there yet can be removed without harm, one that is not listed stays.
  live_ = LiveTemporary(name);
  file_ = create_output(name);
  name_ = std::move(name);
}

FileDescriptor UnpublishedFile::descriptor() const {
  FileDescriptor second(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!second.valid()) throw system_error("cannot open", errno).at_path(target_);
  return second;
}

void UnpublishedFile::publish(const fs::path& path) {
  if (road() == Road::named) return rename_to(path);
  linked_ = link_unnamed(file_, path);
  if (linked_) return;
  if (errno != EEXIST) throw_unnameable(path, errno);
  // A link replaces nothing, a rename does.
  fs::path name = temporary_for(target_);
  live_ = LiveTemporary(name);
  if (!link_unnamed(file_, name)) throw_unnameable(path, errno);
  linked_ = true;
  name_ = std::move(name);
  rename_to(path);
}

void UnpublishedFile::sync_name() const {
  // A file system without a journal would keep the name and forget that the file has one.
  while (linked_ && ::fsync(file_.get()) != 0) {
    if (errno != EINTR) throw system_error("cannot sync", errno).at_path(target_);
  }
  sync_directory(target_.parent_path());
}

void UnpublishedFile::rename_to(const fs::path& path) {
  if (std::rename(name_.c_str(), path.c_str()) != 0) throw_unnameable(path, errno);
  name_.clear();
  live_.forget();
}

}  // namespace millrace::io
