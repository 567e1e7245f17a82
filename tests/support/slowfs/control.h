#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <string>
#include <utility>

// What slowfs and those who steer it share: the contents of the control file, which both have mapped. The programs must
// come from the same build. Everything is an atomic that may be read and written at any time.

namespace millrace::slowfs {

/// The requests that are slowed, failed and counted. All others pass.
enum class Kind : std::uint32_t { none, read, write, fsync };

/// One request as the kernel sent it.
struct TraceEntry {
  std::atomic<Kind> kind;
  std::atomic<std::uint64_t> offset;  ///< bytes from the start of the file
  std::atomic<std::uint64_t> bytes;
};

/// The requests of one kind since the last reset.
struct Counters {
  std::atomic<std::uint64_t> requests;
  std::atomic<std::uint64_t> bytes;  ///< that were asked for
  std::atomic<std::uint64_t> largest_bytes;
};

/// The control file. All zeros but `space_bytes` is a plain passthrough.
struct Control {
  static constexpr std::uint64_t kVersion = 0x736c6f7766730002;  // "slowfs", 2
  static constexpr std::uint64_t kTraceLength = 16'384;
  static constexpr std::uint64_t kEndless = ~0ULL;

  std::atomic<std::uint64_t> version;

  // What the server does. Read at the start of each request.
  std::atomic<std::uint64_t> latency_us;        ///< every request takes at least so long
  std::atomic<std::uint64_t> bytes_per_second;  ///< of all reads and writes together; 0 = no limit
  std::atomic<std::uint64_t> read_error_begin;  ///< reads that touch bytes [begin, end) of any file fail with EIO
  std::atomic<std::uint64_t> read_error_end;
  std::atomic<std::uint64_t> short_read_bytes;  ///< each read gives so many bytes fewer than are there
  std::atomic<std::uint64_t> space_bytes;       ///< writes that reach beyond this place of any file fail with ENOSPC
  std::atomic<std::uint64_t> write_errors;      ///< so many of the next writes fail with EIO; counts down
  std::atomic<std::uint64_t> fsync_errors;      ///< the same for fsync
  std::atomic<std::uint64_t> stall_from;        ///< `stall` spares reads and writes that end at or before this place
  std::atomic<std::uint32_t> stall;  ///< not 0: requests wait until it is 0 again; change it with set_stall()

  // What the server saw.
  std::atomic<std::uint32_t> stalled;  ///< requests that wait for `stall` to become 0 now; a futex
  std::atomic<std::uint64_t> in_flight;
  std::atomic<std::uint64_t> most_in_flight;
  Counters reads;
  Counters writes;
  Counters fsyncs;
  std::atomic<std::uint64_t> traced;  ///< entry number n is trace[n % kTraceLength]; the last kTraceLength are there
  std::array<TraceEntry, kTraceLength> trace;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

/// Waits while `word` is `value`, until somebody wakes the word or `deadline` has passed. May return early.
inline void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                       std::chrono::steady_clock::time_point deadline) {
  const std::chrono::nanoseconds since_boot = deadline.time_since_epoch();
  const timespec until{since_boot.count() / 1'000'000'000, since_boot.count() % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}
/// Async-signal-safe.
inline void wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
}

/// Async-signal-safe.
inline void set_stall(Control& control, bool stall) {
  control.stall.store(stall ? 1 : 0);
  wake(control.stall);
}

/// Forgets what was seen; what is in flight stays counted as in flight.
inline void forget_requests(Control& control) {
  for (Counters* const counters : {&control.reads, &control.writes, &control.fsyncs}) {
    counters->requests = 0;
    counters->bytes = 0;
    counters->largest_bytes = 0;
  }
  control.most_in_flight = control.in_flight.load();
  control.traced = 0;
}

/// The control file, mapped.
class ControlFile {
 public:
  /// Makes it, or takes one that is there (whose settings stay). An empty path: memory of this process alone.
  static ControlFile make(const std::string& path) { return ControlFile(path, O_RDWR | O_CREAT | O_CLOEXEC); }
  /// Opens one that a server made. std::runtime_error when it is missing or from another build.
  static ControlFile open(const std::string& path) { return ControlFile(path, O_RDWR | O_CLOEXEC); }

  ControlFile(ControlFile&& other) noexcept : control_(std::exchange(other.control_, nullptr)) {}
  ControlFile& operator=(ControlFile&&) = delete;
  ~ControlFile() {
    if (control_ != nullptr) ::munmap(control_, sizeof(Control));
  }

  Control& operator*() const { return *control_; }
  Control* operator->() const { return control_; }

 private:
  ControlFile(const std::string& path, int flags) {
    const bool shared = !path.empty();
    const bool create = !shared || (flags & O_CREAT) != 0;
    const int file = shared ? ::open(path.c_str(), flags, 0600) : -1;
    struct stat status {};
    const bool sized = shared && file >= 0 && ::fstat(file, &status) == 0 &&
                       (status.st_size == sizeof(Control) ||
                        (create && status.st_size == 0 && ::ftruncate(file, sizeof(Control)) == 0));
    void* memory = MAP_FAILED;
    if (sized || !shared) {
      memory = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                      shared ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, file, 0);
    }
    if (file >= 0) ::close(file);
    if (memory == MAP_FAILED) throw std::runtime_error(path + " cannot be opened as a control file of this slowfs");
    control_ = static_cast<Control*>(memory);
    if (create && control_->version == 0) {
      control_->space_bytes = Control::kEndless;
      control_->version = Control::kVersion;
    }
    if (control_->version != Control::kVersion) {
      ::munmap(memory, sizeof(Control));
      throw std::runtime_error(path + " is no control file of this slowfs");
    }
  }

  Control* control_ = nullptr;
};

}  // namespace millrace::slowfs
