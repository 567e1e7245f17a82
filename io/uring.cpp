#include "io/uring.h"

#include <liburing.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "io/alignment.h"
#include "io/file_descriptor.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr unsigned kEntries = 64;
constexpr std::uint32_t kFileSlots = 64;
constexpr std::uint32_t kWitnessSlot = 0;  // of the files
constexpr std::uint32_t kBufferSlots = 1024;
constexpr std::size_t kMostBufferBytes = 1ULL << 30;  // the kernel's limit

struct Mode {
  unsigned flags;
  const char* name;
};

// With DEFER_TASKRUN completions are worked on when the owner waits for them, and interrupt it at no other time.
constexpr std::array<Mode, 3> kModes{
    {{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP, "DEFER_TASKRUN"},
     {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP, "COOP_TASKRUN"},
     {0, "plain"}}};

/// Thread ids are given again to later threads; these are not.
std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t kId = threads.fetch_add(1, std::memory_order_relaxed);
  return kId;
}

std::uint64_t next_ring_id() {
  static std::atomic<std::uint64_t> rings{1};
  return rings.fetch_add(1, std::memory_order_relaxed);
}

Error unavailable(int reason) {
  switch (reason) {
    case EPERM: {
      int disabled = 0;
      std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled;
      if (disabled != 0) {
        return Error("io_uring is switched off here (sysctl kernel.io_uring_disabled = " + std::to_string(disabled) +
                     ")");
      }
      return system_error("io_uring is forbidden here, as by the seccomp filter of a container", reason);
    }
    case ENOSYS:
      return system_error("this kernel has no io_uring, or the seccomp filter of a container hides it", reason);
    case ENOMEM:
      return system_error("no memory for an io_uring, or the limit of locked memory (ulimit -l) is too small for it",
                          reason);
    default:
      return system_error("io_uring does not work here", reason);
  }
}

}  // namespace

struct Ring::Kernel {
  io_uring ring{};
  const char* mode = "";
  FileDescriptor witness;  // reading end of a pipe whose writing end only the ring has
  bool buffers = false;    // there is a table of buffers
  std::vector<std::uint32_t> free_files;
};

Ring::Ring() : kernel_(std::make_unique<Kernel>()), id_(next_ring_id()), thread_(this_thread()) { open(); }

void Ring::open() {
  int result = 0;
  for (const Mode& mode : kModes) {
    io_uring_params parameters{};
    parameters.flags = mode.flags;
    result = io_uring_queue_init_params(kEntries, &kernel_->ring, &parameters);
    kernel_->mode = mode.name;
    if (result != -EINVAL) break;  // that alone means "a flag that this kernel does not know"
  }
  if (result < 0) {
    kernel_.reset();
    throw unavailable(-result);
  }
  // A thread that is not the owner can learn in one way only that nothing is in flight any more: when the kernel has
  // taken the closed ring apart it closes the ring's files.
  std::array<int, 2> ends{};
  std::array<int, kFileSlots> files{};
  files.fill(-1);
  int failure = 0;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    failure = errno;
  } else {
    kernel_->witness = FileDescriptor(ends[0]);
    const FileDescriptor writing_end(ends[1]);
    files[kWitnessSlot] = writing_end.get();
    failure = -io_uring_register_files(&kernel_->ring, files.data(), kFileSlots);
  }
  if (failure != 0) {
    io_uring_queue_exit(&kernel_->ring);
    kernel_.reset();
    throw system_error("io_uring takes no files", failure);
  }
  in_flight_.reserve(*kernel_->ring.cq.kring_entries);
  for (std::uint32_t slot = kFileSlots; --slot > kWitnessSlot;) kernel_->free_files.push_back(slot);
  const int sparse = io_uring_register_buffers_sparse(&kernel_->ring, kBufferSlots);
  kernel_->buffers = sparse == 0;
  if (sparse != 0) refusal_ = -sparse;
}

Ring::~Ring() {
  while (!in_flight_.empty()) settle(*in_flight_.back());
  if (kernel_ == nullptr) return;
  if (belongs_to_this_thread()) {
    // Taking a ring apart takes the kernel some 50 ms. What others may wait for, memory and files, it gives back here.
    if (kernel_->buffers) io_uring_unregister_buffers(&kernel_->ring);
    io_uring_unregister_files(&kernel_->ring);
    io_uring_queue_exit(&kernel_->ring);
  } else {
    shut_down();
  }
}

/// Closes the ring and waits until the kernel has let go of all memory and files.
void Ring::shut_down() noexcept {
  if (kernel_ == nullptr) return;
  io_uring_queue_exit(&kernel_->ring);
  pollfd end{kernel_->witness.get(), 0, 0};  // the hang-up is told without asking
  while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
  kernel_.reset();
  for (RingRequest* const request : in_flight_) {
    request->result = -ECANCELED;
    request->in_flight = false;
  }
  in_flight_.clear();
}

bool Ring::belongs_to_this_thread() const { return kernel_ != nullptr && thread_ == this_thread(); }

RingFile Ring::add_file(int descriptor) {
  RingFile file{descriptor, std::nullopt};
  if (kernel_->free_files.empty()) return file;
  const std::uint32_t slot = kernel_->free_files.back();
  if (io_uring_register_files_update(&kernel_->ring, slot, &descriptor, 1) != 1) return file;
  kernel_->free_files.pop_back();
  file.slot = slot;
  return file;
}

void Ring::remove_file(const RingFile& file) noexcept {
  if (!file.slot || !belongs_to_this_thread()) return;  // otherwise it goes with the ring
  const int none = -1;
  if (io_uring_register_files_update(&kernel_->ring, *file.slot, &none, 1) == 1) {
    kernel_->free_files.push_back(*file.slot);
  }
}

/// The number under which the ring knows the block's memory, registering it when it is new.
std::optional<std::uint32_t> Ring::slot_of(const BufferBlock* block) {
  if (block == nullptr || block->id == BufferBlock::kNoId || block->read_only || !kernel_->buffers) return std::nullopt;
  const auto [place, is_new] = buffers_.try_emplace({block->lender, block->id});
  Slot& slot = place->second;
  if (is_new && buffers_registered_ < kBufferSlots) {
    const iovec memory{block->data, block->capacity};
    const __u64 no_tag = 0;
    slot.number = buffers_registered_;
    const int result = block->capacity > kMostBufferBytes
                           ? -EFBIG
                           : io_uring_register_buffers_update_tag(&kernel_->ring, slot.number, &memory, &no_tag, 1);
    slot.registered = result == 1;
    if (slot.registered) {
      ++buffers_registered_;
    } else if (refusal_ == 0) {
      refusal_ = -result;
    }
  }
  return slot.registered ? std::optional(slot.number) : std::nullopt;
}

io_uring_sqe& Ring::next_entry() {
  // What does not fit into the completion queue the kernel keeps too, but then it may refuse to take more.
  while (in_flight_.size() >= in_flight_.capacity()) wait_for_any();
  for (;;) {
    if (io_uring_sqe* const entry = io_uring_get_sqe(&kernel_->ring)) return *entry;
    submit();
  }
}

void Ring::queue(io_uring_sqe& entry, const RingFile& file, RingRequest& request) {
  if (file.slot) {
    entry.fd = static_cast<int>(*file.slot);
    io_uring_sqe_set_flags(&entry, IOSQE_FIXED_FILE);
  }
  io_uring_sqe_set_data(&entry, &request);
  request.place = in_flight_.size();
  request.in_flight = true;
  in_flight_.push_back(&request);
}

bool Ring::read(RingRequest& request, const RingFile& file, std::byte* memory, std::uint64_t bytes,
                std::uint64_t offset, const BufferBlock* block) {
  const auto buffer = slot_of(block);
  const auto length = static_cast<unsigned>(bytes);
  io_uring_sqe& entry = next_entry();
  if (buffer) {
    io_uring_prep_read_fixed(&entry, file.descriptor, memory, length, offset, static_cast<int>(*buffer));
  } else {
    io_uring_prep_read(&entry, file.descriptor, memory, length, offset);
  }
  queue(entry, file, request);
  return buffer.has_value();
}

bool Ring::write(RingRequest& request, const RingFile& file, const std::byte* memory, std::uint64_t bytes,
                 std::uint64_t offset, const BufferBlock* block) {
  const auto buffer = slot_of(block);
  const auto length = static_cast<unsigned>(bytes);
  io_uring_sqe& entry = next_entry();
  if (buffer) {
    io_uring_prep_write_fixed(&entry, file.descriptor, memory, length, offset, static_cast<int>(*buffer));
  } else {
    io_uring_prep_write(&entry, file.descriptor, memory, length, offset);
  }
  queue(entry, file, request);
  return buffer.has_value();
}

void Ring::nop(RingRequest& request) {
  io_uring_sqe& entry = next_entry();
  io_uring_prep_nop(&entry);
  queue(entry, {}, request);
}

void Ring::submit() {
  while (io_uring_sq_ready(&kernel_->ring) != 0) {
    const int result = io_uring_submit(&kernel_->ring);
    if (result >= 0 || result == -EINTR) continue;
    // The kernel is short of memory, or wants completions to be taken first: those that are in flight make room.
    const bool may_pass = result == -EAGAIN || result == -EBUSY;
    if (may_pass && in_flight_.size() > io_uring_sq_ready(&kernel_->ring)) {
      wait_for_any();
      continue;
    }
    broken_ = true;
    throw system_error("io_uring takes no requests", -result);
  }
}

/// Takes in what has ended.
void Ring::reap() {
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(&kernel_->ring, &completion) == 0) {
    auto* const request = static_cast<RingRequest*>(io_uring_cqe_get_data(completion));
    request->result = completion->res;
    request->in_flight = false;
    io_uring_cqe_seen(&kernel_->ring, completion);
    in_flight_.back()->place = request->place;
    std::swap(in_flight_[request->place], in_flight_.back());
    in_flight_.pop_back();
  }
}

void Ring::wait_for_any() {
  if (broken_) throw Error("io_uring failed before");
  const std::size_t before = in_flight_.size();
  while (before != 0 && in_flight_.size() == before) {
    // The call enters the kernel unless completions are there already: DEFER_TASKRUN makes them nowhere else.
    io_uring_cqe* completion = nullptr;
    const int result = io_uring_wait_cqe(&kernel_->ring, &completion);
    if (result < 0 && result != -EINTR && result != -EAGAIN) {
      broken_ = true;
      throw system_error("io_uring gives no results", -result);
    }
    reap();
  }
}

void Ring::wait(const RingRequest& request) {
  while (request.in_flight) wait_for_any();
}

void Ring::settle(const RingRequest& request) noexcept {
  if (!request.in_flight) return;
  if (belongs_to_this_thread() && !broken_) {
    try {
      submit();
      wait(request);
      return;
    } catch (const std::exception&) {  // below is the way that always works
    }
  }
  shut_down();
}

std::string Ring::text() const {
  std::string text = buffers_.empty() ? "no buffers to register"
                                      : std::to_string(buffers_registered_) + " of " + std::to_string(buffers_.size()) +
                                            " buffers registered";
  if (refusal_ != 0) text += std::string(" (") + std::strerror(refusal_) + ")";
  return text + (kernel_ == nullptr ? "" : std::string(", ") + kernel_->mode);
}

Ring& ThreadRing::get() {
  if (ring_ == nullptr || !ring_->belongs_to_this_thread()) {
    ring_.reset();
    ring_ = std::make_unique<Ring>();
  }
  return *ring_;
}

Probe probe_ring(const FileDescriptor& file) {
  try {
    const Alignment alignment = direct_alignment(file);
    Buffer block = loan_aligned(alignment.offset, alignment.memory);
    RingRequest nothing;
    RingRequest some;
    Ring ring;  // the last, for what is in flight ends with it
    ring.nop(nothing);
    ring.read(some, {file.get(), std::nullopt}, block.writable().data(), block.size(), 0, nullptr);
    ring.submit();
    ring.wait(nothing);
    ring.wait(some);
    if (some.result < 0) {
      return {false, system_error("a read through io_uring failed", static_cast<int>(-some.result)).message()};
    }
    return {};
  } catch (const Error& error) {
    return {false, error.message()};
  }
}

}  // namespace millrace::io
