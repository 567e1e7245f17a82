#include "io/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace millrace::io {
namespace {

class ReadOnlyFile {
 public:
  explicit ReadOnlyFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ReadOnlyFile(const ReadOnlyFile&) = delete;
  ReadOnlyFile& operator=(const ReadOnlyFile&) = delete;
  ~ReadOnlyFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The rule of the kernel's can_do_mincore(), as far as a process can see it.
bool may_ask(const std::filesystem::path& path, const struct stat& status) {
  return ::geteuid() == 0 || ::geteuid() == status.st_uid || ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

std::optional<std::uint64_t> resident_pages(int descriptor, std::uint64_t offset, std::size_t length,
                                            std::size_t page) {
  void* const memory = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) return std::nullopt;
  std::vector<unsigned char> states((length + page - 1) / page);
  const bool told = ::mincore(memory, length, states.data()) == 0;
  ::munmap(memory, length);
  if (!told) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::count_if(states.begin(), states.end(), [](unsigned char state) { return (state & 1U) != 0; }));
}

}  // namespace

std::optional<std::uint64_t> resident_bytes(const std::filesystem::path& file) {
  const ReadOnlyFile opened(file);
  struct stat status {};
  if (opened.descriptor() < 0 || ::fstat(opened.descriptor(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !may_ask(file, status)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t kWindow = 256ULL << 20;
  std::uint64_t resident = 0;
  for (std::uint64_t offset = 0; offset < size; offset += kWindow) {
    const std::uint64_t length = std::min(kWindow, size - offset);
    const auto pages = resident_pages(opened.descriptor(), offset, length, page);
    if (!pages) return std::nullopt;
    resident += std::min(*pages * page, length);
  }
  return resident;
}

}  // namespace millrace::io
