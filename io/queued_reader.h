#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "io/reader.h"
#include "pipeline/core/buffer.h"

namespace millrace::io {

/// Reads in flight for transports that have no queue of their own: threads, each with a reader of the file, that begin
/// the announced extents in their order. The buffers come from the lender of the thread that announced them; failures
/// are thrown by read(). Promises and errors of Reader. Threads are started as they are needed, so a file of one extent
/// costs one.
///
/// read() ends with an Error when the run is stopped while it waits. The destructor gives up what nobody began, waits
/// for the transfers that are under way, and gives all buffers back.
class QueuedReader final : public Reader {
 public:
  using Open = std::function<std::unique_ptr<Reader>()>;

  /// At most `depth` (at least 1) threads. `open` opens the file: now, and for further threads later; one that cannot
  /// be had then is gone without. Error of `open`.
  QueuedReader(Open open, std::uint32_t depth);
  ~QueuedReader() override;

  Buffer read(Extent extent) override;
  Lookahead lookahead() const override;
  void announce(Extent extent) override;
  std::uint64_t size() const override { return readers_.front()->size(); }
  const std::filesystem::path& path() const override { return readers_.front()->path(); }
  int descriptor() const override { return readers_.front()->descriptor(); }
  /// Of the transfers that have ended.
  IoStats stats() const override;

 private:
  /// One extent on its way. Everything is guarded by the mutex but the buffer and the error of one that is under way.
  struct Transfer {
    enum class State { waiting, under_way, ended };

    Extent extent;
    State state = State::waiting;
    bool given_up = false;
    Lender* lender = nullptr;
    std::stop_token stop;
    Buffer buffer;
    std::exception_ptr error;
  };
  using Transfers = std::vector<std::unique_ptr<Transfer>>;

  void serve(std::size_t number, Reader& reader);
  static void run(Transfer& transfer, Reader& reader);
  void enqueue(Extent extent);
  bool wants_thread() const;
  void add_thread();
  void give_up(Transfers::iterator end);
  void retire(std::unique_ptr<Transfer> transfer);

  Open open_;
  std::uint32_t depth_;
  std::size_t most_threads_;                      // fewer than depth_ when the system has no more
  std::vector<std::unique_ptr<Reader>> readers_;  // one of each thread, and the first one even before it has a thread
  std::vector<std::thread> threads_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable_any ended_;
  bool ending_ = false;
  Transfers queue_;             // in the order of their announcement
  Transfers given_up_;          // under way, but nobody wants them any more
  Transfers unused_;            // to be used again
  std::vector<IoStats> stats_;  // of each reader
};

}  // namespace millrace::io
