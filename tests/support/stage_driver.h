#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/stage.h"
#include "tests/support/places.h"

// Drives a stage without an engine: options and chunks from values, one instance called as one slot would be.

namespace millrace::test {

/// Options as a config would give them; integers as std::int64_t, numbers as double.
inline Options options_of(std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>> values) {
  std::map<std::string, OptionValue> table;
  for (const auto& [key, value] : values) table[key] = {value, {"test.toml", 7, 3}};
  return {std::move(table), {}, {"test.toml", 5, 1}};
}

/// A chunk with a copy of `values` in memory of the heap, of any contiguous range.
template <typename Range>
Chunk chunk_of(const Range& values, std::shared_ptr<const Attributes> attributes = nullptr) {
  const std::span elements(values);
  using T = typename decltype(elements)::value_type;
  Buffer buffer = heap_lender().lend(elements.size_bytes());
  if (!elements.empty()) std::memcpy(buffer.writable().data(), elements.data(), elements.size_bytes());
  Chunk chunk(std::move(buffer), dtype_of<T>());
  chunk.set_attributes(std::move(attributes));
  return chunk;
}

template <typename T>
std::vector<T> values_of(const Chunk& chunk) {
  const auto view = chunk.view<T>();
  return {view.begin(), view.end()};
}

/// The output of `transform` (prepared already) for `inputs`, numbered from 0: process(), more() where it splits, and
/// finish() at the end.
inline std::vector<Chunk> drive(Transform& transform, std::vector<Chunk> inputs) {
  std::vector<Chunk> outputs;
  const auto keep = [&outputs](std::optional<Chunk> chunk) {
    if (chunk) outputs.push_back(std::move(*chunk));
  };
  std::uint64_t sequence = 0;
  for (Chunk& input : inputs) {
    input.set_sequence(sequence++);
    auto output = transform.process(std::move(input));
    while (output) {
      keep(std::move(output));
      output = transform.splits() ? transform.more() : std::nullopt;
    }
  }
  while (auto output = transform.finish()) keep(std::move(output));
  return outputs;
}

/// Feeds `sink` (prepared already) and finishes it.
inline void drive(Sink& sink, std::vector<Chunk> inputs, Sink::End end = Sink::End::complete) {
  std::uint64_t sequence = 0;
  for (Chunk& input : inputs) {
    input.set_sequence(sequence++);
    sink.consume(std::move(input));
  }
  sink.finish(end);
}

/// The Error that `call` throws; a failure of the test when it throws none.
template <typename Call>
std::optional<Error> error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return std::nullopt;
}

/// Where real files are: $MILLRACE_TEST_DATA, else ../shared/data beside the source tree; it may not exist.
inline std::filesystem::path test_data() {
  const char* const named = std::getenv("MILLRACE_TEST_DATA");
  if (named != nullptr) return named;
  return source_dir().parent_path() / "shared" / "data";
}

/// Lends the same blocks again and again, as the pools of a run do. One thread.
class RecyclingLender final : public Lender {
 public:
  ~RecyclingLender() override { EXPECT_EQ(lent_, 0) << "buffers outlive their lender"; }

  Buffer lend(std::size_t bytes) override {
    largest_ = std::max(largest_, bytes);
    ++lent_;
    for (const auto& block : blocks_) {
      if (block->users.load() == 0 && block->capacity >= bytes) {
        block->users.store(1);
        return {block.get(), bytes};
      }
    }
    memory_.push_back(heap_lender().lend(bytes));
    auto& block = blocks_.emplace_back(std::make_unique<BufferBlock>());
    block->data = memory_.back().writable().data();
    block->capacity = memory_.back().capacity();
    block->lender = this;
    block->users.store(1);
    return {block.get(), bytes};
  }
  void take_back(BufferBlock& block) noexcept override {
    block.users.store(0);
    --lent_;
  }

  /// The largest loan so far; what a stage announced in prepare() must hold it.
  std::size_t largest_loan() const { return largest_; }
  std::size_t blocks() const { return blocks_.size(); }

 private:
  std::vector<Buffer> memory_;
  std::vector<std::unique_ptr<BufferBlock>> blocks_;
  std::size_t largest_ = 0;
  int lent_ = 0;
};

/// While it lives, loan() on this thread takes from `lender`.
class LendFrom {
 public:
  explicit LendFrom(Lender& lender) : before_(std::exchange(call_context().lender, &lender)) {}
  LendFrom(const LendFrom&) = delete;
  LendFrom& operator=(const LendFrom&) = delete;
  ~LendFrom() { call_context().lender = before_; }

 private:
  Lender* before_;
};

}  // namespace millrace::test
