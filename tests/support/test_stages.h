#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/core/stage.h"

namespace millrace::testing {

/// Sends the numbers 0 ... count-1, each as the first 8 bytes of a chunk of `bytes` bytes.
class NumberSource final : public Source {
 public:
  explicit NumberSource(std::uint64_t count, std::size_t bytes = 8) : count_(count), bytes_(bytes) {}
  ChunkType prepare() override { return {DType::u8, "bytes", bytes_}; }
  std::optional<Chunk> produce(std::uint64_t index) override {
    if (index >= count_) return std::nullopt;
    Buffer buffer = loan(bytes_);
    std::memcpy(buffer.writable().data(), &index, sizeof index);
    return Chunk(std::move(buffer), DType::u8);
  }
  bool parallel() const override { return true; }
  std::optional<std::uint64_t> total_chunks() const override { return count_; }

 private:
  std::uint64_t count_;
  std::size_t bytes_;
};

inline std::uint64_t number_in(const Chunk& chunk) {
  std::uint64_t number = 0;
  std::memcpy(&number, chunk.bytes().data(), sizeof number);
  return number;
}

/// Applies a function to every chunk.
class FunctionTransform final : public Transform {
 public:
  using Function = std::function<std::optional<Chunk>(Chunk)>;
  explicit FunctionTransform(Function function) : function_(std::move(function)) {}
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override { return function_(std::move(chunk)); }
  bool parallel() const override { return true; }

 private:
  Function function_;
};

/// What a CollectingSink saw; outlives the run.
struct Collected {
  std::mutex mutex;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> sequences;
  int finished = 0;
  int abandoned = 0;
  std::optional<Sink::End> end;
};

class CollectingSink final : public Sink {
 public:
  explicit CollectingSink(Collected& collected, std::function<void(const Chunk&)> before = nullptr)
      : collected_(collected), before_(std::move(before)) {}
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk chunk) override {
    if (before_) before_(chunk);
    const std::lock_guard lock(collected_.mutex);
    collected_.numbers.push_back(number_in(chunk));
    collected_.sequences.push_back(chunk.sequence());
  }
  void finish(End end) override {
    const std::lock_guard lock(collected_.mutex);
    ++collected_.finished;
    collected_.end = end;
  }
  void abandon() noexcept override {
    const std::lock_guard lock(collected_.mutex);
    ++collected_.abandoned;
  }
  bool parallel() const override { return true; }

 private:
  Collected& collected_;
  std::function<void(const Chunk&)> before_;
};

/// A gate that scripted calls wait at; opened by the test.
class Gate {
 public:
  void open() {
    open_.store(true);
    open_.notify_all();
  }
  void wait() { open_.wait(false); }

 private:
  std::atomic<bool> open_{false};
};

}  // namespace millrace::testing
