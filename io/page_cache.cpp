#include "io/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "io/file_descriptor.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

// Younger than the headers of Debian 12 (linux/mman.h of Linux 6.5).
constexpr long kSysCachestat = 451;
struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t length;
};
struct Cachestat {
  std::uint64_t cached_pages;
  std::uint64_t dirty_pages;
  std::uint64_t writeback_pages;
  std::uint64_t evicted_pages;
  std::uint64_t recently_evicted_pages;
};

constexpr std::uint32_t kOverlayMagic = 0x794C7630;
constexpr std::uint32_t kTmpfsMagic = 0x01021994;
constexpr std::uint32_t kRamfsMagic = 0x858458F6;
constexpr double kColdFraction = 0.01;
/// Writeback that has only just ended, or another reader's look, can keep pages for a moment.
constexpr int kEvictions = 5;

std::uint64_t page_bytes() {
  static const auto kBytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

std::uint32_t magic_of(int descriptor) {
  struct statfs system {};
  return ::fstatfs(descriptor, &system) == 0 ? static_cast<std::uint32_t>(system.f_type) : 0;
}

/// The rule of the kernel's can_do_mincore(), as far as a process can see it.
bool may_ask(int descriptor, const struct stat& status) {
  return ::geteuid() == 0 || ::geteuid() == status.st_uid ||
         ::faccessat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(descriptor)).c_str(), W_OK, AT_EACCESS) == 0;
}

/// Pages that `extent` touches, as an extent.
Extent whole_pages(Extent extent) {
  const std::uint64_t page = page_bytes();
  const std::uint64_t begin = extent.offset / page * page;
  return {begin, (extent.offset + extent.length + page - 1) / page * page - begin};
}

std::optional<std::uint64_t> pages_by_cachestat(int descriptor, Extent pages) {
  CachestatRange range{pages.offset, pages.length};
  Cachestat answer{};
  if (::syscall(kSysCachestat, descriptor, &range, &answer, 0U) != 0) return std::nullopt;
  return answer.cached_pages;
}

std::optional<std::uint64_t> pages_by_mincore(int descriptor, Extent pages) {
  constexpr std::uint64_t kWindow = 256ULL << 20;
  std::uint64_t resident = 0;
  for (std::uint64_t done = 0; done < pages.length; done += kWindow) {
    const std::uint64_t length = std::min(kWindow, pages.length - done);
    void* const memory =
        ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(pages.offset + done));
    if (memory == MAP_FAILED) return std::nullopt;
    std::vector<unsigned char> states((length + page_bytes() - 1) / page_bytes());
    const bool told = ::mincore(memory, length, states.data()) == 0;
    ::munmap(memory, length);
    if (!told) return std::nullopt;
    resident += static_cast<std::uint64_t>(
        std::count_if(states.begin(), states.end(), [](unsigned char state) { return (state & 1U) != 0; }));
  }
  return resident;
}

std::optional<std::uint64_t> resident_pages(int descriptor, const struct stat& status, Extent pages) {
  if (magic_of(descriptor) != kOverlayMagic) {
    if (const auto answer = pages_by_cachestat(descriptor, pages)) return answer;
  }
  if (!may_ask(descriptor, status)) return std::nullopt;
  return pages_by_mincore(descriptor, pages);
}

FileDescriptor open_quietly(const std::filesystem::path& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

std::optional<std::uint64_t> resident_in_all_of(const FileDescriptor& file, std::uint64_t bytes) {
  return resident_in(file.get(), {0, bytes});
}

}  // namespace

std::optional<std::uint64_t> resident_in(int descriptor, Extent extent) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (extent.offset >= size || extent.length == 0) return 0;
  extent.length = std::min(extent.length, size - extent.offset);
  const Extent pages = whole_pages(extent);
  const auto resident = resident_pages(descriptor, status, pages);
  if (!resident) return std::nullopt;
  const std::uint64_t all = pages.length / page_bytes();
  return *resident >= all ? extent.length : std::min(*resident * page_bytes(), extent.length);
}

bool is_slow_to_ask(int descriptor) {
  return magic_of(descriptor) == kOverlayMagic || !pages_by_cachestat(descriptor, {0, page_bytes()}).has_value();
}

std::optional<std::uint64_t> resident_bytes(const std::filesystem::path& file) {
  return residency_of(file).resident_bytes;
}

Residency residency_of(const std::filesystem::path& file) {
  Residency result;
  const FileDescriptor opened = open_quietly(file);
  struct stat status {};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) return result;
  result.file_bytes = static_cast<std::uint64_t>(status.st_size);
  result.resident_bytes = resident_in_all_of(opened, result.file_bytes);
  const std::uint32_t magic = magic_of(opened.get());
  if (magic == kTmpfsMagic || magic == kRamfsMagic) {
    result.state = Residency::State::memory;
  } else if (result.resident_bytes) {
    const bool cold =
        static_cast<double>(*result.resident_bytes) <= kColdFraction * static_cast<double>(result.file_bytes);
    result.state = cold ? Residency::State::cold : Residency::State::warm;
  }
  return result;
}

std::optional<std::uint64_t> evict(const std::filesystem::path& file) {
  const FileDescriptor opened = open_input(file);
  const std::uint64_t bytes = size_of(opened, file);
  std::optional<std::uint64_t> before = resident_in_all_of(opened, bytes);
  for (int attempt = 0; attempt < kEvictions; ++attempt) {
    // The advice drops clean pages only. A file system that is mounted read-only may refuse to sync: nothing is dirty.
    if (::fdatasync(opened.get()) != 0 && errno != EROFS && errno != EINVAL) {
      throw system_error("cannot write the file back before the page cache forgets it", errno).at_path(file);
    }
    const int refused = ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (refused != 0) throw system_error("the page cache cannot be told to forget", refused).at_path(file);
    const auto left = resident_in_all_of(opened, bytes);
    if (!left || *left == 0 || (attempt > 0 && left == before)) return left;
    before = left;
  }
  return before;
}

}  // namespace millrace::io
