#include "io/line_relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace millrace::io {
namespace {

std::string numbered(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST(LineRelay, PutsThePrefixBeforeWholeLines) {
  LineRelay relay("call");
  EXPECT_EQ(relay.take("one\ntw", 0), "call: one\n");
  EXPECT_EQ(relay.take("o\r\n\nthree", 1), "call: two\n");
  EXPECT_EQ(relay.finish(), "call: three\n");
  EXPECT_EQ(relay.lines(), 3U);
  EXPECT_EQ(relay.last_lines(), "one | two | three");
}

TEST(LineRelay, KeepsTheLastLinesOnly) {
  LineRelay relay("call");
  relay.take(numbered(9), 0);
  EXPECT_EQ(relay.last_lines(), "4 | 5 | 6 | 7 | 8");
}

TEST(LineRelay, ShowsNoMoreLinesThanCanBeReadAndSaysHowManyItLeftOut) {
  LineRelay relay("call");
  const std::string shown = relay.take(numbered(LineRelay::kLinesAtOnce + 5), 0);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), LineRelay::kLinesAtOnce);
  EXPECT_EQ(relay.hidden(), 5U);
  EXPECT_EQ(relay.take("next\n", LineRelay::kLineEveryNs), "call: (5 lines not shown)\ncall: next\n");
  EXPECT_EQ(relay.take("soon after\n", LineRelay::kLineEveryNs + 1), "");
  EXPECT_EQ(relay.finish(), "call: (1 line not shown)\n");
  EXPECT_EQ(relay.hidden(), 6U);
}

TEST(LineRelay, AQuietTimeGivesBackNoMoreThanTheFirstLines) {
  LineRelay relay("call");
  relay.take(numbered(1), 0);
  const std::string shown = relay.take(numbered(100), 1000 * LineRelay::kLineEveryNs);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), LineRelay::kLinesAtOnce);
}

TEST(LineRelay, CutsLongLinesAndTakesOutWhatATerminalWouldObey) {
  LineRelay relay("call");
  EXPECT_EQ(relay.take("a\x1b[31mb\tc\x7f\n", 0), "call: a?[31mb\tc?\n");
  EXPECT_EQ(relay.take(std::string(2000, 'x') + "\n", 0), "call: " + std::string(LineRelay::kLineBytes, 'x') + "...\n");
}

}  // namespace
}  // namespace millrace::io
