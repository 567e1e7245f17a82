#include "pipeline/experiment/ablation_recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

constexpr std::uint64_t kPlenty = 1 << 20;

Chunk numbered(std::uint8_t number, std::size_t bytes = 8) {
  return test::chunk_of(std::vector<std::uint8_t>(bytes, number));
}

void keep(Recording& recording, std::uint64_t number, std::size_t bytes = 8) {
  KeptTurn turn;
  turn.push_back({10, recording.copy(number, numbered(static_cast<std::uint8_t>(number), bytes)), false});
  if (turn.back().output) recording.add(number, std::move(turn));
}

std::vector<int> numbers_in(const Recording& recording) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < recording.size(); ++i) {
    numbers.push_back(static_cast<int>(recording.turn(i).front().output->bytes().front()));
  }
  return numbers;
}

TEST(Recording, PutsTurnsInOrderHoweverTheyCame) {
  Recording recording(kPlenty);
  for (const std::uint64_t number : {2U, 0U, 3U, 1U}) keep(recording, number);
  recording.seal();
  EXPECT_EQ(numbers_in(recording), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(recording.service_ns(), 40);
  EXPECT_FALSE(recording.ran_out());
}

TEST(Recording, BeginsAgainAfterItsLastTurn) {
  Recording recording(kPlenty);
  for (std::uint64_t number = 0; number < 3; ++number) keep(recording, number);
  recording.seal();
  EXPECT_EQ(recording.turn(3).front().output->bytes().front(), std::byte{0});
  EXPECT_EQ(recording.turn(7).front().output->bytes().front(), std::byte{1});
}

TEST(Recording, KeepsOwnCopiesOfTheBytes) {
  Recording recording(kPlenty);
  Chunk chunk = numbered(7);
  const auto copy = recording.copy(0, chunk);
  chunk.samples<std::uint8_t>()[0] = 9;
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->bytes().front(), std::byte{7});
}

TEST(Recording, LargeCopiesAreAlignedToPages) {
  Recording recording(kPlenty);
  const auto copy = recording.copy(0, numbered(1, 10'000));
  ASSERT_TRUE(copy);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy->bytes().data()) % 4096, 0U);
}

TEST(Recording, NeverTakesMoreThanItsRoomAndKeepsAPrefix) {
  for (const std::uint64_t room : {3'000U, 20'000U, 60'000U}) {
    for (const std::size_t bytes : {1U, 500U, 4'000U, 5'000U}) {
      Recording recording(room);
      // Two slots that take turns out of step.
      for (std::uint64_t pair = 0; pair < 50; ++pair) {
        keep(recording, 2 * pair + 1, bytes);
        keep(recording, 2 * pair, bytes);
      }
      recording.seal();
      EXPECT_LE(recording.bytes(), room);
      EXPECT_LE(recording.size() * bytes, room);
      const auto numbers = numbers_in(recording);
      for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int>(i));
      EXPECT_EQ(recording.ran_out(), recording.size() < 100);
    }
  }
}

TEST(Recording, WithoutRoomForOneChunkIsEmptyAndSaysSo) {
  Recording recording(100);
  keep(recording, 0, 1000);
  recording.seal();
  EXPECT_EQ(recording.size(), 0U);
  EXPECT_TRUE(recording.ran_out());
  EXPECT_FALSE(recording.wants(0));
}

TEST(Recording, CallsThatGiveNothingTakeRoomToo) {
  Recording recording(10'000);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    KeptTurn turn(1);
    recording.add(number, std::move(turn));
  }
  recording.seal();
  EXPECT_LE(recording.bytes(), 10'000U);
  EXPECT_GT(recording.size(), 0U);
  EXPECT_LT(recording.size(), 100U);
}

TEST(Recording, ClosesUpNumbersThatALossyLinkLost) {
  Recording recording(kPlenty);
  for (const std::uint64_t number : {0U, 3U, 9U}) keep(recording, number);
  recording.seal();
  EXPECT_EQ(numbers_in(recording), (std::vector<int>{0, 3, 9}));
}

TEST(Recording, RemembersTheFirstEndOfItsSource) {
  Recording recording(kPlenty);
  recording.note_end(8);
  recording.note_end(7);
  recording.note_end(9);
  EXPECT_EQ(recording.end(), 7U);
}

TEST(Recording, KeepsWhatSlotsGaveAtTheirEnd) {
  Recording recording(kPlenty);
  recording.add_finish(1, {5, recording.copy_at_finish(numbered(3)), false});
  recording.add_finish(1, {5, std::nullopt, false});
  recording.seal();
  EXPECT_EQ(recording.finish(0).size(), 0U);
  ASSERT_EQ(recording.finish(1).size(), 2U);
  EXPECT_EQ(recording.finish(1).front().output->bytes().front(), std::byte{3});
  EXPECT_TRUE(recording.finish_is_whole());

  Recording small(10);
  EXPECT_FALSE(small.copy_at_finish(numbered(3)));
  EXPECT_FALSE(small.finish_is_whole());
}

}  // namespace
}  // namespace millrace
