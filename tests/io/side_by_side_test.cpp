#include "io/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace millrace::io {
namespace {

TEST(SideBySide, CallsEachOnce) {
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    side_by_side(count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& one : calls) EXPECT_EQ(one, 1);
  }
}

TEST(SideBySide, FinishesAllAndThrowsTheFirstFailure) {
  std::atomic<int> calls = 0;
  try {
    side_by_side(50, [&](std::size_t i) {
      ++calls;
      if (i == 7 || i == 30) throw std::runtime_error(std::to_string(i));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(calls, 50);
}

}  // namespace
}  // namespace millrace::io
