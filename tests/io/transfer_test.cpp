#include "io/transfer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace millrace::io {
namespace {

/// Answers of a system call, in turn; negative: that errno.
struct Script {
  std::vector<long long> answers;
  std::vector<std::uint64_t> asked_at{};
  std::vector<std::uint64_t> asked_for{};

  long long operator()(std::uint64_t done, std::uint64_t bytes) {
    asked_at.push_back(done);
    asked_for.push_back(bytes);
    const long long answer = answers.at(asked_at.size() - 1);
    if (answer >= 0) return answer;
    errno = static_cast<int>(-answer);
    return -1;
  }
};

TEST(TransferAll, OneCallWhenAllIsMovedAtOnce) {
  IoStats stats;
  Script script{{100}};
  const Transfer transfer = transfer_all(100, stats, script);
  EXPECT_EQ(transfer.done, 100U);
  EXPECT_EQ(stats.calls, 1U);
  EXPECT_EQ(stats.bytes, 100U);
  EXPECT_EQ(stats.retries, 0U);
}

TEST(TransferAll, NoCallForNothing) {
  IoStats stats;
  Script script{{}};
  EXPECT_EQ(transfer_all(0, stats, script).done, 0U);
  EXPECT_EQ(stats.calls, 0U);
}

TEST(TransferAll, ContinuesAfterShortCountsAndInterruptions) {
  IoStats stats;
  Script script{{30, -EINTR, 1, 69}};
  const Transfer transfer = transfer_all(100, stats, script);
  EXPECT_EQ(transfer.done, 100U);
  EXPECT_EQ(transfer.error_number, 0);
  EXPECT_EQ(script.asked_at, (std::vector<std::uint64_t>{0, 30, 30, 31}));
  EXPECT_EQ(script.asked_for, (std::vector<std::uint64_t>{100, 70, 70, 69}));
  EXPECT_EQ(stats.calls, 4U);
  EXPECT_EQ(stats.retries, 3U);
  EXPECT_EQ(stats.bytes, 100U);
}

TEST(TransferAll, SaysHowFarItCameBeforeAnError) {
  IoStats stats;
  Script script{{40, -EIO}};
  const Transfer transfer = transfer_all(100, stats, script);
  EXPECT_EQ(transfer.done, 40U);
  EXPECT_EQ(transfer.error_number, EIO);
  EXPECT_EQ(stats.bytes, 40U);
}

TEST(TransferAll, EndsWhenNothingMoves) {
  IoStats stats;
  Script script{{40, 0}};
  const Transfer transfer = transfer_all(100, stats, script);
  EXPECT_EQ(transfer.done, 40U);
  EXPECT_EQ(transfer.error_number, 0);
}

TEST(TransferAll, AsksForNoMoreThanLinuxMovesInOneCall) {
  IoStats stats;
  constexpr std::uint64_t kFiveGiB = 5ULL << 30;
  Script script{{static_cast<long long>(kMaxCallBytes), static_cast<long long>(kMaxCallBytes),
                 static_cast<long long>(kFiveGiB - 2 * kMaxCallBytes)}};
  EXPECT_EQ(transfer_all(kFiveGiB, stats, script).done, kFiveGiB);
  EXPECT_EQ(script.asked_for, (std::vector<std::uint64_t>{kMaxCallBytes, kMaxCallBytes, kFiveGiB - 2 * kMaxCallBytes}));
}

}  // namespace
}  // namespace millrace::io
