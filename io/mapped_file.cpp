#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io/alignment.h"
#include "io/file_system.h"
#include "io/positioned_file.h"
#include "io/transfer.h"
#include "io/unnamed_file.h"
#include "pipeline/core/call_context.h"

namespace millrace::io {
namespace {

constexpr std::uint64_t kPage = 4096;  // a file is mapped from multiples of this
constexpr std::uint64_t kReadWindow = 64ULL << 20;
constexpr std::uint64_t kWriteWindow = 16ULL << 20;
constexpr auto kMaxOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

/// The pages that `memory` has a part of.
std::span<const std::byte> pages_of(std::span<const std::byte> memory) {
  const auto skip = reinterpret_cast<std::uintptr_t>(memory.data()) % kPage;
  return {memory.data() - skip, round_up(memory.size() + skip, kPage)};
}

int advise_memory(std::span<const std::byte> memory, int advice) {
  auto* const begin =
      const_cast<std::byte*>(memory.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): C's void*
  for (;;) {
    if (::madvise(begin, memory.size(), advice) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

/// Where pages come from elsewhere a fault asks for a small piece and waits for it (linux_io g3).
std::string slow_place(const std::filesystem::path& path) {
  const FileSystem facts = file_system_of(path);
  if (!facts.is_network() && !facts.is_fuse()) return {};
  return "mapped files are fetched and written in small pieces on " + facts.type +
         ", where 'buffered' is usually faster";
}

Probe probe_map(int file, int protection, const std::filesystem::path& place) {
  void* const memory = ::mmap(nullptr, kPage, protection, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return {false, system_error("files cannot be mapped here", errno).message()};
  ::munmap(memory, kPage);
  return {true, slow_place(place)};
}

}  // namespace

/// A part of the file in memory.
class MappedReader::Map {
 public:
  Map(const FileDescriptor& file, const std::filesystem::path& path, Extent extent) : extent_(extent) {
    void* const memory =
        ::mmap(nullptr, extent.length, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(extent.offset));
    if (memory == MAP_FAILED) {
      throw system_error("cannot map " + std::to_string(extent.length) + " bytes", errno)
          .at_path(path)
          .at_offset(extent.offset);
    }
    memory_ = {static_cast<std::byte*>(memory), extent.length};
    guard_ = SigbusGuard(pages_of(memory_), path, extent.offset, false);
  }
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;
  ~Map() {
    guard_ = SigbusGuard();  // before the memory is somebody else's
    ::munmap(memory_.data(), memory_.size());
  }

  bool covers(Extent extent) const {
    return extent.offset >= extent_.offset && extent.offset + extent.length <= extent_.offset + extent_.length;
  }
  std::span<std::byte> at(Extent extent) const {
    return memory_.subspan(extent.offset - extent_.offset, extent.length);
  }
  std::span<const std::byte> memory() const { return memory_; }
  bool lost_pages() const { return guard_.lost_page() != nullptr; }

 private:
  Extent extent_;
  std::span<std::byte> memory_;
  SigbusGuard guard_;
};

/// Lends views of maps and uses their headers again. Lives as long as the reader or a view that is out.
class MappedReader::Views final : public Lender, public std::enable_shared_from_this<Views> {
 public:
  explicit Views(bool drop_behind) : drop_behind_(drop_behind) {}

  Buffer show(std::shared_ptr<Map> map, std::span<std::byte> memory) {
    View& view = free_view();
    view.data = memory.data();
    view.capacity = memory.size();
    view.map = std::move(map);
    view.lender_lives = shared_from_this();
    view.users.store(1, std::memory_order_relaxed);
    return {&view, memory.size()};
  }

  Buffer lend(std::size_t /*bytes*/) override { throw Error("a mapped file has no memory to lend"); }

  void take_back(BufferBlock& block) noexcept override {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): it lends Views only
    auto& view = static_cast<View&>(block);
    const auto lender_lives = std::move(view.lender_lives);  // to the end of this call
    // A page that is mapped stays in the page cache, whatever the kernel is told about the file.
    if (drop_behind_) advise_memory(pages_of({view.data, view.capacity}), MADV_DONTNEED);
    view.map.reset();
    const std::lock_guard lock(mutex_);
    view.next_free = std::exchange(free_, &view);
  }

 private:
  struct View : BufferBlock {
    std::shared_ptr<Map> map;
    std::shared_ptr<Views> lender_lives;
    View* next_free = nullptr;
  };

  View& free_view() {
    {
      const std::lock_guard lock(mutex_);
      if (free_ != nullptr) return *std::exchange(free_, free_->next_free);
    }
    View& view = *all_.emplace_back(std::make_unique<View>());
    view.lender = this;
    view.read_only = true;
    return view;
  }

  bool drop_behind_;
  std::vector<std::unique_ptr<View>> all_;  // touched by the reader's thread only
  std::mutex mutex_;
  View* free_ = nullptr;
};

MappedReader::MappedReader(std::filesystem::path path, const ReadVia& via)
    : path_(std::move(path)),
      file_(open_input(path_)),
      size_(io::size_of(file_, path_)),
      advice_(via.advice.kind),
      consumer_faults_(via.consumer_faults),
      views_(std::make_shared<Views>(via.drop_behind)) {
  stats_.transport_requested = via.transport_requested;
  stats_.transport_used = "mmap";
  stats_.detail = consumer_faults_ ? "whoever touches a page first fetches it" : "pages fetched by the reader";
  if (advice_ != AdvicePolicy::Kind::willneed) stats_.advice.kind = name_of(advice_);
}

MappedReader::~MappedReader() = default;

Buffer MappedReader::read(Extent extent) {
  require_within(extent, size_, path_);
  if (extent.length == 0) return {};
  Map& map = map_of(extent);
  const std::span<std::byte> memory = map.at(extent);
  if (!consumer_faults_) fetch(memory, extent);
  // Also when all pages are there: behind the end of a file that shrank, its last page goes on with zeros.
  require_there(extent);
  ++stats_.calls;
  stats_.bytes += extent.length;
  return views_->show(map_, memory);
}

MappedReader::Map& MappedReader::map_of(Extent extent) {
  // A map that lost a page shows zeros there for ever; the next read deserves another try.
  if (map_ != nullptr && map_->covers(extent) && !map_->lost_pages()) return *map_;
  map_.reset();
  const std::uint64_t begin = round_down(extent.offset, kPage);
  const std::uint64_t end = std::min(size_, std::max(begin + kReadWindow, extent.offset + extent.length));
  map_ = std::make_shared<Map>(file_, path_, Extent{begin, end - begin});
  advise(*map_);
  return *map_;
}

void MappedReader::advise(Map& map) {
  int advice = 0;
  switch (advice_) {
    case AdvicePolicy::Kind::normal:
      advice = MADV_NORMAL;
      break;
    case AdvicePolicy::Kind::sequential:
      advice = MADV_SEQUENTIAL;
      break;
    case AdvicePolicy::Kind::random:
      advice = MADV_RANDOM;
      break;
    case AdvicePolicy::Kind::none:
    case AdvicePolicy::Kind::willneed:
    case AdvicePolicy::Kind::populate:
      return;
  }
  ++stats_.advice.calls;
  if (advise_memory(map.memory(), advice) != 0) ++stats_.advice.errors;
}

/// Has the kernel fetch the pages of an extent and put them into the page table. Returns when all are there.
void MappedReader::fetch(std::span<const std::byte> memory, Extent extent) {
  if (!kernel_fetches_) return touch(memory, extent);
  const bool counts_as_advice = advice_ == AdvicePolicy::Kind::populate;
  if (counts_as_advice) ++stats_.advice.calls;
  const int failed = advise_memory(pages_of(memory), MADV_POPULATE_READ);
  if (failed == 0) return;
  if (counts_as_advice) ++stats_.advice.errors;
  if (failed == EINVAL) {  // before Linux 5.14
    kernel_fetches_ = false;
    return touch(memory, extent);
  }
  if (failed != EFAULT && failed != EHWPOISON) {
    throw unreadable(failed, extent.offset);
  }
  // The kernel says neither which page nor why.
  require_there(extent);
  for (auto pages = pages_of(memory); !pages.empty(); pages = pages.subspan(kPage)) {
    if (advise_memory(pages.first(kPage), MADV_POPULATE_READ) == 0) continue;
    const auto before = static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(pages.data() - memory.data(), 0));
    require_readable(extent.offset + before);
    if (advise_memory(pages.first(kPage), MADV_POPULATE_READ) != 0) throw unreadable(EIO, extent.offset + before);
  }
}

/// The same without the kernel's help.
void MappedReader::touch(std::span<const std::byte> memory, Extent extent) {
  CallTally& tally = call_context().tally;
  const LostPage* const before = std::exchange(tally.lost_page, nullptr);
  touch_pages(memory);
  const LostPage* const lost = std::exchange(tally.lost_page, before);
  if (lost == nullptr) return;
  require_there(extent);
  const std::uint64_t place = std::max(lost->offset, extent.offset);
  require_readable(place);
  throw unreadable(EIO, place);
}

/// Asks for the rest of a page by a call that says why it fails.
void MappedReader::require_readable(std::uint64_t offset) const {
  std::array<std::byte, kPage> page{};
  const std::uint64_t bytes = std::min(kPage - offset % kPage, size_ - offset);
  IoStats uncounted;
  const Transfer transfer = transfer_all(bytes, uncounted, [&](std::uint64_t done, std::uint64_t length) {
    return ::pread(file_.get(), page.data(), length, static_cast<off_t>(offset + done));
  });
  if (transfer.done == bytes) return;
  if (transfer.error_number == 0) throw shrunk(size_, path_, offset + transfer.done);
  throw unreadable(transfer.error_number, offset + transfer.done);
}

Error MappedReader::unreadable(int reason, std::uint64_t offset) const {
  return system_error("cannot read", reason).at_path(path_).at_offset(offset);
}

void MappedReader::require_there(Extent extent) const {
  const std::uint64_t size = io::size_of(file_, path_);
  if (size < extent.offset + extent.length) throw shrunk(size_, path_, std::max(size, extent.offset));
}

Probe MappedReader::probe(const std::filesystem::path& file) try {
  return probe_map(open_input(file).get(), PROT_READ, file);
} catch (const Error& error) {
  return {false, error.message()};
}

MappedWriter::MappedWriter(FileDescriptor file, std::filesystem::path path, const WriteVia& via)
    : path_(std::move(path)),
      file_(std::move(file)),
      write_behind_(via.drop_behind ? std::max(via.write_behind_bytes, kWriteWindow) : 0, via.drop_behind),
      step_(via.preallocate_bytes == 0 ? kWriteWindow : round_up(via.preallocate_bytes, kPage)) {
  stats_.transport_requested = via.transport_requested;
  stats_.transport_used = "mmap";
  stats_.detail = "copied into the mapped file";
}

MappedWriter::~MappedWriter() { unmap(); }

void MappedWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (failure_) throw *failure_;
  if (offset > kMaxOffset - kWriteWindow || bytes.size() > kMaxOffset - kWriteWindow - offset) {
    fail(system_error("cannot write " + std::to_string(bytes.size()) + " bytes", EFBIG).at_offset(offset));
  }
  CallTally& tally = call_context().tally;
  while (!bytes.empty()) {
    const std::uint64_t window = round_down(offset, kWriteWindow);
    const std::size_t piece = std::min(bytes.size(), window + kWriteWindow - offset);
    if (offset + piece > room_end_) make_room(offset, offset + piece);
    if (window_.empty() || window_begin_ != window) map_window(window);
    const LostPage* const before = std::exchange(tally.lost_page, nullptr);
    std::memcpy(window_.data() + (offset - window), bytes.data(), piece);
    const LostPage* const lost = std::exchange(tally.lost_page, before);
    if (guard_.lost_page() != nullptr) {
      fail(Error("cannot write: no space left on the device, or it failed").at_offset(guard_.lost_page()->offset));
    }
    // A page of the source, then: the caller's business, as for everybody who works on mapped bytes.
    if (lost != nullptr && before == nullptr) tally.lost_page = lost;
    ++stats_.calls;
    stats_.bytes += piece;
    offset += piece;
    end_ = std::max(end_, offset);
    bytes = bytes.subspan(piece);
  }
  if (const auto failed = write_behind_.wrote(file_.get(), std::min(end_, window_begin_), stats_)) {
    fail(system_error("cannot write", failed->error_number).at_offset(failed->offset));
  }
}

/// Makes the file long enough, with blocks of the device behind it: touching a page that has none would be fatal when
/// the disk is full.
void MappedWriter::make_room(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t from = std::max(room_end_, round_down(begin, kPage));  // what is left out stays a hole
  const std::uint64_t least = round_up(end, kPage);
  const std::uint64_t ample = std::max(least, std::min(from + step_, kMaxOffset));
  int failed = allocate(from, ample);
  if (failed == 0) {
    room_end_ = ample;
    return;
  }
  if (failed == EOPNOTSUPP || failed == ENOSYS) {
    // The file grows by a hole; the guard sees to it when there are no blocks for it.
    failed = ::ftruncate(file_.get(), static_cast<off_t>(least)) == 0 ? 0 : errno;
  } else {
    failed = allocate(from, least);  // the last bytes of a full disk
  }
  if (failed != 0) fail(system_error("cannot write", failed).at_offset(std::max(from, begin)));
  room_end_ = least;
}

int MappedWriter::allocate(std::uint64_t begin, std::uint64_t end) const {
  for (;;) {
    if (::fallocate(file_.get(), 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

void MappedWriter::map_window(std::uint64_t begin) {
  unmap();
  void* const memory =
      ::mmap(nullptr, kWriteWindow, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), static_cast<off_t>(begin));
  if (memory == MAP_FAILED) fail(system_error("cannot map the file for writing", errno).at_offset(begin));
  window_ = {static_cast<std::byte*>(memory), kWriteWindow};
  window_begin_ = begin;
  guard_ = SigbusGuard(window_, path_, begin, true);
}

void MappedWriter::unmap() noexcept {
  if (window_.empty()) return;
  guard_ = SigbusGuard();
  ::munmap(window_.data(), window_.size());
  window_ = {};
}

void MappedWriter::flush() {
  if (failure_) throw *failure_;
  unmap();
  if (room_end_ == end_) return;
  while (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) {
    if (errno != EINTR) fail(system_error("cannot cut the file to its length", errno));
  }
  room_end_ = end_;
}

void MappedWriter::sync() {
  flush();
  ++stats_.fsync_calls;
  while (::fdatasync(file_.get()) != 0) {
    if (errno != EINTR) fail(system_error("cannot sync", errno));
  }
  write_behind_.synced(file_.get(), end_, stats_);
}

IoStats MappedWriter::stats() const { return stats_; }

Probe MappedWriter::probe(const std::filesystem::path& directory) try {
  return probe_map(open_scratch(directory).get(), PROT_READ | PROT_WRITE, directory);
} catch (const Error& error) {
  return {false, error.message()};
}

void MappedWriter::fail(Error error) {
  failure_ = std::move(error.at_path(path_));
  throw *failure_;
}

}  // namespace millrace::io
