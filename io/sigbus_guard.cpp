#include "io/sigbus_guard.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// What one guard knows. Written by the thread that registers or releases it while `version` is odd; the handler looks
/// at it at any moment. The handler of a thread that touches the memory finds its place unchanging: the memory is
/// mapped, so the guard is there.
struct SigbusGuard::Place {
  std::atomic<std::uint64_t> version{1};  // even = in use and unchanging
  std::atomic<bool> taken{true};
  std::atomic<const LostPage*> first_lost{nullptr};
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::uint64_t file_offset = 0;
  bool writable = false;
  std::array<char, sizeof(LostPage::path)> path{};
  Place* next = nullptr;  // written before the place is published, never changed
};

namespace {

using Place = SigbusGuard::Place;

constinit std::atomic<Place*> first_place{nullptr};
constinit std::uintptr_t page_bytes = 0;        // written once, before the handler is installed
constinit struct sigaction previous_action {};  // the same

/// Records are kept for ever, one for every mapping that lost something. A run fails with its first one.
constexpr std::size_t kMostRecords = 256;
constinit std::array<LostPage, kMostRecords> records{};
constinit std::atomic<std::size_t> records_used{0};
constinit std::atomic<const LostPage*> first_record{nullptr};

Place* find_place(std::uintptr_t address) {
  for (Place* place = first_place.load(std::memory_order_acquire); place != nullptr; place = place->next) {
    const std::uint64_t version = place->version.load(std::memory_order_acquire);
    if (version % 2 != 0) continue;
    const bool inside =
        place->begin.load(std::memory_order_acquire) <= address && address < place->end.load(std::memory_order_acquire);
    if (inside && place->version.load(std::memory_order_acquire) == version) return place;
  }
  return nullptr;
}

bool put_zeros(std::uintptr_t begin, std::uintptr_t end, bool writable) {
  // The bare call: the sanitizers' own mmap is not made for signal handlers.
  const long result = ::syscall(SYS_mmap, begin, end - begin, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return result != -1;
}

const LostPage* record_of(const Place& place, std::uintptr_t page) {
  const std::size_t number = records_used.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMostRecords) {  // better a page that was lost before than none
    const LostPage* const earlier = first_record.load(std::memory_order_acquire);
    return earlier != nullptr ? earlier : &records.front();
  }
  LostPage& record = records[number];
  record.path = place.path;
  record.offset = place.file_offset + (page - place.begin.load(std::memory_order_relaxed));
  if (number == 0) first_record.store(&record, std::memory_order_release);
  return &record;
}

/// True when the page is there now. Only async-signal-safe calls; besides, the signal came from this thread's own touch
/// of mapped memory, not from the middle of anything that holds a lock.
bool replace_page(std::uintptr_t address) {
  Place* const place = find_place(address);
  if (place == nullptr) return false;
  const std::uintptr_t page = address / page_bytes * page_bytes;
  // A process has some 65000 mappings. When they are used up by pages here and there, all the rest goes at once.
  if (!put_zeros(page, page + page_bytes, place->writable) &&
      !put_zeros(page, place->end.load(std::memory_order_relaxed), place->writable)) {
    return false;
  }
  const LostPage* lost = place->first_lost.load(std::memory_order_acquire);
  if (lost == nullptr) {
    lost = record_of(*place, page);
    place->first_lost.store(lost, std::memory_order_release);
  }
  CallTally& tally = call_context().tally;
  if (tally.lost_page == nullptr) tally.lost_page = lost;
  return true;
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool from_kernel = info->si_code > 0;
  if (from_kernel && replace_page(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    errno = saved_errno;
    return;
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else if (from_kernel || previous_action.sa_handler == SIG_DFL) {
    // As without this handler: the access is repeated, or the signal comes again, and ends the process.
    std::signal(signal, SIG_DFL);
    if (!from_kernel) std::raise(signal);
  }
  errno = saved_errno;
}

void install_handler() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, nullptr, &previous_action) != 0 || ::sigaction(SIGBUS, &action, nullptr) != 0) {
    throw system_error("cannot guard mapped files", errno);
  }
}

Place& take_place() {
  for (Place* place = first_place.load(std::memory_order_acquire); place != nullptr; place = place->next) {
    if (!place->taken.exchange(true, std::memory_order_acquire)) return *place;
  }
  auto* const place = new Place;  // kept for ever, see the header
  place->next = first_place.load(std::memory_order_relaxed);
  while (!first_place.compare_exchange_weak(place->next, place, std::memory_order_release)) {
  }
  return *place;
}

}  // namespace

SigbusGuard::SigbusGuard(std::span<const std::byte> memory, const std::filesystem::path& path,
                         std::uint64_t file_offset, bool writable) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  place_ = &take_place();
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  // Released, so that whoever sees one of them sees that the version is odd.
  place_->begin.store(begin, std::memory_order_release);
  place_->end.store(begin + memory.size(), std::memory_order_release);
  place_->first_lost.store(nullptr, std::memory_order_relaxed);
  place_->file_offset = file_offset;
  place_->writable = writable;
  const std::size_t length = std::min(path.native().size(), place_->path.size() - 1);
  std::memcpy(place_->path.data(), path.c_str(), length);
  place_->path[length] = '\0';
  place_->version.fetch_add(1, std::memory_order_release);
}

SigbusGuard::SigbusGuard(SigbusGuard&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}

SigbusGuard& SigbusGuard::operator=(SigbusGuard&& other) noexcept {
  if (this != &other) {
    release();
    place_ = std::exchange(other.place_, nullptr);
  }
  return *this;
}

const LostPage* SigbusGuard::lost_page() const {
  return place_ == nullptr ? nullptr : place_->first_lost.load(std::memory_order_acquire);
}

void SigbusGuard::release() noexcept {
  if (place_ == nullptr) return;
  place_->version.fetch_add(1, std::memory_order_acq_rel);
  place_->taken.store(false, std::memory_order_release);
  place_ = nullptr;
}

void touch_pages(std::span<const std::byte> memory) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < memory.size(); at += page) {
    static_cast<void>(*const_cast<const volatile std::byte*>(memory.data() + at));
  }
  if (!memory.empty()) static_cast<void>(*const_cast<const volatile std::byte*>(&memory.back()));
}

}  // namespace millrace::io
