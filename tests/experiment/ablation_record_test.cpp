#include "pipeline/experiment/ablation_record.h"

#include <gtest/gtest.h>

#include <functional>
#include <stop_token>
#include <utility>
#include <vector>

#include "tests/support/stage_driver.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

using testing::FunctionTransform;
using testing::number_in;
using testing::NumberSource;

constexpr std::uint64_t kPlenty = 1 << 20;

/// Adds a number to every byte where it lies.
std::optional<Chunk> add_in_place(Chunk chunk) {
  for (auto& byte : chunk.samples<std::uint8_t>()) ++byte;
  return chunk;
}

/// Gives every byte of its input as a chunk of its own, and at the end the number of its inputs.
class Splitter final : public Transform {
 public:
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    input_ = std::move(chunk);
    at_ = 0;
    ++inputs_;
    return more();
  }
  bool splits() const override { return true; }
  std::optional<Chunk> more() override {
    if (at_ >= input_.size_bytes()) return std::nullopt;
    return input_.with(input_.buffer().slice(at_++, 1), DType::u8);
  }
  std::optional<Chunk> finish() override {
    if (inputs_ == 0) return std::nullopt;
    return test::chunk_of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(std::exchange(inputs_, 0))});
  }

 private:
  Chunk input_;
  std::size_t at_ = 0;
  int inputs_ = 0;
};

class RecordedTransform : public ::testing::Test {
 protected:
  RecordingTransform recorder(std::unique_ptr<Transform> inner, bool merges = false) {
    return {std::move(inner), recording_, 0, merges, clock_};
  }
  RecordingTransform recorder(FunctionTransform::Function function) {
    return recorder(std::make_unique<FunctionTransform>(std::move(function)));
  }
  static std::vector<Chunk> inputs(int count) {
    std::vector<Chunk> chunks;
    for (int i = 0; i < count; ++i) {
      chunks.push_back(test::chunk_of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(i), 100}));
    }
    return chunks;
  }

  ManualClock clock_;
  std::shared_ptr<Recording> recording_ = std::make_shared<Recording>(kPlenty);
};

TEST(RecordingSource, GivesWhatTheSourceGivesAndKeepsIt) {
  const auto recording = std::make_shared<Recording>(kPlenty);
  RecordingSource source(std::make_unique<NumberSource>(5), recording);
  for (std::uint64_t index = 0; index < 5; ++index) EXPECT_EQ(number_in(*source.produce(index)), index);
  EXPECT_FALSE(source.produce(5));
  EXPECT_EQ(source.total_chunks(), 5U);
  EXPECT_TRUE(source.parallel());
  recording->seal();
  ASSERT_EQ(recording->size(), 5U);
  for (std::uint64_t index = 0; index < 5; ++index) {
    EXPECT_EQ(number_in(*recording->turn(index).front().output), index);
  }
  EXPECT_EQ(recording->end(), 5U);
}

TEST(RecordingSource, DoesNotTakeAStopForTheEnd) {
  const auto recording = std::make_shared<Recording>(kPlenty);
  RecordingSource source(std::make_unique<NumberSource>(0), recording);
  std::stop_source stop;
  stop.request_stop();
  call_context().stop = stop.get_token();
  EXPECT_FALSE(source.produce(0));
  call_context().stop = {};
  EXPECT_FALSE(recording->end());
}

TEST(RecordingSource, PassesAFailureAndKeepsWhatCameBefore) {
  class Failing final : public Source {
   public:
    ChunkType prepare() override { return {}; }
    std::optional<Chunk> produce(std::uint64_t index) override {
      if (index == 2) throw Error("the cable is out");
      return test::chunk_of(std::vector<std::uint8_t>{1});
    }
  };
  const auto recording = std::make_shared<Recording>(kPlenty);
  RecordingSource source(std::make_unique<Failing>(), recording);
  source.produce(0);
  source.produce(1);
  EXPECT_EQ(test::error_of([&] { source.produce(2); })->message(), "the cable is out");
  recording->seal();
  EXPECT_EQ(recording->size(), 2U);
  EXPECT_FALSE(recording->end());
}

TEST_F(RecordedTransform, GivesWhatItGivesAndKeepsCopies) {
  auto transform = recorder([](Chunk chunk) -> std::optional<Chunk> {
    const auto first = static_cast<std::uint8_t>(chunk.bytes().front());
    if (first == 1) return std::nullopt;
    return chunk.with(test::chunk_of(std::vector<std::uint8_t>(3, first)).buffer(), DType::u8);
  });
  const auto outputs = test::drive(transform, inputs(3));
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(test::values_of<std::uint8_t>(outputs[1]), (std::vector<std::uint8_t>{2, 2, 2}));
  recording_->seal();
  ASSERT_EQ(recording_->size(), 3U);
  EXPECT_EQ(test::values_of<std::uint8_t>(*recording_->turn(0).front().output), (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_FALSE(recording_->turn(1).front().output);
  EXPECT_FALSE(recording_->works_in_place());
  EXPECT_FALSE(recording_->passes_input());
}

TEST_F(RecordedTransform, TellsWorkInPlaceFromPassingOn) {
  auto changes = recorder(add_in_place);
  test::drive(changes, inputs(2));
  recording_->seal();
  EXPECT_TRUE(recording_->works_in_place());
  EXPECT_FALSE(recording_->passes_input());
  EXPECT_EQ(test::values_of<std::uint8_t>(*recording_->turn(1).front().output), (std::vector<std::uint8_t>{2, 101}));

  recording_ = std::make_shared<Recording>(kPlenty);
  auto passes = recorder([](Chunk chunk) -> std::optional<Chunk> { return chunk; });
  test::drive(passes, inputs(2));
  recording_->seal();
  EXPECT_FALSE(recording_->works_in_place());
  EXPECT_TRUE(recording_->passes_input());
  EXPECT_TRUE(recording_->turn(1).front().passes_input);
  EXPECT_EQ(recording_->turn(1).front().output->size_bytes(), 0U);
}

TEST_F(RecordedTransform, DoesNotMakeTheStageCopyItsInput) {
  auto transform = recorder(add_in_place);
  call_context().tally = {};
  test::drive(transform, inputs(3));
  EXPECT_EQ(call_context().tally.copied_bytes, 0U);
}

TEST_F(RecordedTransform, ASliceOfTheInputIsKeptAsItsOwnBytes) {
  auto transform =
      recorder([](Chunk chunk) -> std::optional<Chunk> { return chunk.with(chunk.buffer().slice(1, 1), DType::u8); });
  test::drive(transform, inputs(2));
  recording_->seal();
  EXPECT_FALSE(recording_->passes_input());
  EXPECT_FALSE(recording_->works_in_place());
  EXPECT_EQ(test::values_of<std::uint8_t>(*recording_->turn(1).front().output), (std::vector<std::uint8_t>{100}));
}

TEST_F(RecordedTransform, ServiceTimesAreWithoutRunDelay) {
  auto transform = recorder([this](Chunk chunk) -> std::optional<Chunk> {
    clock_.advance_ns(1000);
    clock_.set_usage({.cpu_ns = 0, .run_delay_ns = 300, .major_faults = 0, .minor_faults = 0});
    return chunk;
  });
  test::drive(transform, inputs(1));
  recording_->seal();
  EXPECT_EQ(recording_->turn(0).front().service_ns, 700);
}

TEST_F(RecordedTransform, TurnsOfASplitterHoldAllItsCallsAndItsEnd) {
  auto transform = recorder(std::make_unique<Splitter>());
  const auto outputs = test::drive(transform, inputs(2));
  EXPECT_EQ(outputs.size(), 5U) << "two bytes of each input, and the count";
  recording_->seal();
  ASSERT_EQ(recording_->size(), 2U);
  ASSERT_EQ(recording_->turn(1).size(), 3U) << "two outputs, and the call that gave nothing";
  EXPECT_EQ(recording_->turn(1)[0].output->bytes().front(), std::byte{1});
  EXPECT_EQ(recording_->turn(1)[1].output->bytes().front(), std::byte{100});
  EXPECT_FALSE(recording_->turn(1)[2].output);
  ASSERT_EQ(recording_->finish(0).size(), 2U);
  EXPECT_EQ(recording_->finish(0)[0].output->bytes().front(), std::byte{2});
}

TEST_F(RecordedTransform, ATurnThatDidNotEndIsNotKept) {
  auto transform = recorder(std::make_unique<Splitter>());
  Chunk chunk = std::move(inputs(1).front());
  transform.process(std::move(chunk));  // and then the run is stopped
  recording_->seal();
  EXPECT_EQ(recording_->size(), 0U);
}

TEST_F(RecordedTransform, InputsOfSeveralLinksAreNumberedAsTheyCome) {
  auto transform = recorder(std::make_unique<FunctionTransform>(add_in_place), true);
  for (int link = 0; link < 2; ++link) {
    for (Chunk& chunk : inputs(2)) {
      chunk.set_sequence(0);  // each link has its own numbers
      transform.process(std::move(chunk));
    }
  }
  recording_->seal();
  EXPECT_EQ(recording_->size(), 4U);
}

TEST_F(RecordedTransform, GoesOnWithoutRecordingWhenTheRoomIsUsedUp) {
  recording_ = std::make_shared<Recording>(1000);
  auto transform = recorder(add_in_place);
  EXPECT_EQ(test::drive(transform, inputs(100)).size(), 100U);
  recording_->seal();
  EXPECT_LT(recording_->size(), 10U);
  EXPECT_LE(recording_->bytes(), 1000U);
}

}  // namespace
}  // namespace millrace
