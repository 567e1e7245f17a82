#include "io/queued_reader.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"

namespace millrace::io {

QueuedReader::QueuedReader(Open open, std::uint32_t depth)
    : open_(std::move(open)), depth_(depth), most_threads_(depth) {
  readers_.reserve(depth);
  threads_.reserve(depth);
  stats_.reserve(depth);
  for (auto* const transfers : {&queue_, &given_up_, &unused_}) transfers->reserve(2ULL * depth);
  readers_.push_back(open_());
  stats_.push_back(readers_.front()->stats());
}

QueuedReader::~QueuedReader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Lookahead QueuedReader::lookahead() const { return {depth_ - 1, 0}; }

void QueuedReader::announce(Extent extent) {
  std::unique_lock lock(mutex_);
  enqueue(extent);
  const bool grow = wants_thread();
  lock.unlock();
  if (grow) add_thread();
  work_.notify_one();
}

Buffer QueuedReader::read(Extent extent) {
  std::unique_lock lock(mutex_);
  const auto wanted = std::find_if(queue_.begin(), queue_.end(), [extent](const auto& transfer) {
    return transfer->extent.offset == extent.offset && transfer->extent.length == extent.length;
  });
  const bool announced = wanted != queue_.end();
  give_up(wanted);
  if (!announced) {
    lock.unlock();
    announce(extent);
    lock.lock();
  }
  Transfer& transfer = *queue_.front();  // only this thread adds to the queue and takes from it
  const auto has_ended = [&transfer] { return transfer.state == Transfer::State::ended; };
  if (!ended_.wait(lock, call_context().stop, has_ended)) {
    throw Error("the run was stopped before these bytes were read").at_path(path()).at_offset(extent.offset);
  }
  Buffer buffer = std::move(transfer.buffer);
  const std::exception_ptr error = std::exchange(transfer.error, nullptr);
  retire(std::move(queue_.front()));
  queue_.erase(queue_.begin());
  lock.unlock();
  if (error) std::rethrow_exception(error);
  return buffer;
}

IoStats QueuedReader::stats() const {
  const std::lock_guard lock(mutex_);
  IoStats sum = stats_.front();
  for (std::size_t i = 1; i < stats_.size(); ++i) sum.add(stats_[i]);
  sum.detail = "up to " + std::to_string(depth_) + " reads in flight, on threads" +
               (sum.detail.empty() ? "" : ", " + sum.detail);
  return sum;
}

void QueuedReader::enqueue(Extent extent) {
  std::unique_ptr<Transfer> transfer;
  if (unused_.empty()) {
    transfer = std::make_unique<Transfer>();
  } else {
    transfer = std::move(unused_.back());
    unused_.pop_back();
  }
  transfer->extent = extent;
  transfer->state = Transfer::State::waiting;
  transfer->given_up = false;
  transfer->lender = call_context().lender;
  transfer->stop = call_context().stop;
  queue_.push_back(std::move(transfer));
}

bool QueuedReader::wants_thread() const {
  const auto has_not_ended = [](const auto& transfer) { return transfer->state != Transfer::State::ended; };
  const auto in_queue = static_cast<std::size_t>(std::count_if(queue_.begin(), queue_.end(), has_not_ended));
  const std::size_t useful = std::min(most_threads_, in_queue + given_up_.size());
  return useful > threads_.size();
}

/// Without it the threads that there are do the work. There is one at least, or an Error.
void QueuedReader::add_thread() {
  const std::size_t number = threads_.size();
  try {
    if (number == readers_.size()) {
      auto reader = open_();
      if (reader->size() != size()) {  // it is another file by now
        most_threads_ = number;
        return;
      }
      const std::lock_guard lock(mutex_);
      stats_.push_back(reader->stats());
      readers_.push_back(std::move(reader));
    }
    threads_.emplace_back([this, number, &reader = *readers_[number]] { serve(number, reader); });
    pthread_setname_np(threads_.back().native_handle(), "read-ahead");
  } catch (const Error&) {
    most_threads_ = number;
  } catch (const std::system_error& failure) {
    if (number == 0) throw system_error("cannot start a thread to read", failure.code().value()).at_path(path());
    most_threads_ = number;
  }
}

/// What lies before `end` in the queue is wanted no more.
void QueuedReader::give_up(Transfers::iterator end) {
  for (auto one = queue_.begin(); one != end; ++one) {
    if ((*one)->state == Transfer::State::under_way) {
      (*one)->given_up = true;
      given_up_.push_back(std::move(*one));
    } else {
      retire(std::move(*one));
    }
  }
  queue_.erase(queue_.begin(), end);
}

void QueuedReader::retire(std::unique_ptr<Transfer> transfer) {
  transfer->buffer.release();
  transfer->error = nullptr;
  transfer->stop = {};
  unused_.push_back(std::move(transfer));
}

/// What a thread does: the first extent that waits, again and again.
void QueuedReader::serve(std::size_t number, Reader& reader) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto is_waiting = [](const auto& transfer) { return transfer->state == Transfer::State::waiting; };
    auto next = queue_.end();
    work_.wait(lock, [&] {
      next = std::find_if(queue_.begin(), queue_.end(), is_waiting);
      return ending_ || next != queue_.end();
    });
    if (ending_) return;
    Transfer& transfer = **next;
    transfer.state = Transfer::State::under_way;
    lock.unlock();
    run(transfer, reader);
    IoStats stats = reader.stats();
    lock.lock();
    stats_[number] = std::move(stats);
    transfer.state = Transfer::State::ended;
    if (transfer.given_up) {
      const auto mine = std::find_if(given_up_.begin(), given_up_.end(),
                                     [&transfer](const auto& one) { return one.get() == &transfer; });
      retire(std::move(*mine));
      given_up_.erase(mine);
    } else {
      ended_.notify_one();
    }
  }
}

void QueuedReader::run(Transfer& transfer, Reader& reader) {
  CallContext& context = call_context();
  context.lender = transfer.lender;
  context.stop = transfer.stop;
  context.tally = {};
  try {
    transfer.buffer = reader.read(transfer.extent);
  } catch (...) {
    transfer.error = std::current_exception();
  }
  context.stop = {};
}

}  // namespace millrace::io
