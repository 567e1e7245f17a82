#include "io/run_info.h"

#include <gtest/gtest.h>

namespace millrace::io {
namespace {

TEST(RunInfo, IsOneLinePerFactByName) {
  const RunInfo info{{"kit", "sqk-lsk114"}, {"flow_cell_id", "FAW1"}, {"empty", ""}};
  EXPECT_EQ(text_of(info), "flow_cell_id\tFAW1\nkit\tsqk-lsk114\n");
  EXPECT_EQ(parse_run_info(text_of(info)), (RunInfo{{"kit", "sqk-lsk114"}, {"flow_cell_id", "FAW1"}}));
}

TEST(RunInfo, KeepsItsLinesWhole) { EXPECT_EQ(text_of({{"a\tb", "c\nd\te"}}), "a b\tc d e\n"); }

TEST(RunInfo, LeavesOutWhatIsNoFact) {
  EXPECT_TRUE(parse_run_info("").empty());
  EXPECT_EQ(parse_run_info("none\n\na\tb"), (RunInfo{{"a", "b"}}));
  EXPECT_EQ(parse_run_info("a\tb\tc\n"), (RunInfo{{"a", "b\tc"}}));
}

}  // namespace
}  // namespace millrace::io
