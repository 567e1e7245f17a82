#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/file_descriptor.h"
#include "io/transports.h"
#include "pipeline/core/buffer.h"

struct io_uring_sqe;  // liburing's

namespace millrace::io {

/// One request to a ring; must stay where it is while it is in flight.
struct RingRequest {
  bool in_flight = false;
  /// After the flight: bytes moved, or a negative errno value. -ECANCELED: the ring went away, the request may or may
  /// not have been carried out.
  std::int64_t result = 0;
  std::size_t place = 0;  ///< the ring's own
};

/// An open file for requests, by its descriptor and (when the ring could register it) its number in the ring.
struct RingFile {
  int descriptor = -1;
  std::optional<std::uint32_t> slot;
};

/// An io_uring with registered files and buffers. It belongs to the thread that made it (IORING_SETUP_SINGLE_ISSUER):
/// only settle() and the destructor may be called on others. The only code that knows liburing is uring.cpp.
///
/// Buffers are registered when they are first used, those that stay where they are as long as their lender lives
/// (BufferBlock::id). Those that the kernel refuses, as with a small limit of locked memory, are used unregistered. A
/// ring must not be given buffers of a lender that was made after another one had died at its address.
class Ring {
 public:
  /// Error in words for people when there is none to be had: switched off, hidden by a sandbox, no memory.
  Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  /// Waits for what is in flight. On a thread that is not the ring's own the requests end with -ECANCELED.
  ~Ring();

  /// Different for every ring of this process, and not 0.
  std::uint64_t id() const { return id_; }
  bool belongs_to_this_thread() const;

  /// Registers an open file; unregistered when that is refused. Before the descriptor is closed: remove_file().
  RingFile add_file(int descriptor);
  /// From any thread.
  void remove_file(const RingFile& file) noexcept;

  /// Queue a request of at most 1 GiB; submit() starts what is queued. `block`: what `memory` is part of, or null. They
  /// return whether the buffer is a registered one. May wait when very many requests are in flight.
  bool read(RingRequest& request, const RingFile& file, std::byte* memory, std::uint64_t bytes, std::uint64_t offset,
            const BufferBlock* block);
  bool write(RingRequest& request, const RingFile& file, const std::byte* memory, std::uint64_t bytes,
             std::uint64_t offset, const BufferBlock* block);
  void nop(RingRequest& request);
  /// Error when the kernel takes no requests.
  void submit();

  /// Until this request is not in flight.
  void wait(const RingRequest& request);
  /// Until any request that is in flight has ended.
  void wait_for_any();
  /// As wait(), from any thread and without an error. From another thread it ends the ring and everything in flight.
  void settle(const RingRequest& request) noexcept;

  /// "6 of 6 buffers registered, DEFER_TASKRUN"
  std::string text() const;

 private:
  struct Kernel;  // what needs liburing
  struct Slot {
    bool registered = false;
    std::uint32_t number = 0;
  };

  void open();
  std::optional<std::uint32_t> slot_of(const BufferBlock* block);
  io_uring_sqe& next_entry();
  void queue(io_uring_sqe& entry, const RingFile& file, RingRequest& request);
  void reap();
  void shut_down() noexcept;

  std::unique_ptr<Kernel> kernel_;  // null after the end
  std::uint64_t id_;
  std::uint64_t thread_;
  std::vector<RingRequest*> in_flight_;
  bool broken_ = false;  // the kernel refused a request that is queued: it may never end
  std::map<std::pair<const Lender*, std::uint32_t>, Slot> buffers_;
  std::uint32_t buffers_registered_ = 0;
  int refusal_ = 0;  // errno of the first buffer that was refused
};

/// The ring of whichever thread asks. When another thread asks than before, what was in flight ends (-ECANCELED, or as
/// it ended) and there is a new ring.
class ThreadRing {
 public:
  /// Error as Ring().
  Ring& get();
  /// The last one; null before the first get().
  Ring* last() const { return ring_.get(); }

 private:
  std::unique_ptr<Ring> ring_;
};

/// What the readers of one thread share.
class RingSession final : public ReaderSession {
 public:
  ThreadRing& ring() { return ring_; }

 private:
  ThreadRing ring_;
};

/// Sets up a ring, sends it a request that does nothing, and reads the first block of `file`, directly where that is
/// switched on.
Probe probe_ring(const FileDescriptor& file);

}  // namespace millrace::io
