#include "stages/read_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadSelection, WantsEverythingWhenNothingIsSaid) {
  ReadSelection selection(options_of({}));
  selection.load();
  EXPECT_FALSE(selection.by_id());
  EXPECT_FALSE(selection.skips());
  EXPECT_TRUE(selection.wants("any"));
  EXPECT_TRUE(selection.take());
  EXPECT_TRUE(selection.findings().lines.empty());
}

TEST(ReadSelection, TakesTheFirstWordOfEveryLineAsAnId) {
  const TempDirectory directory;
  const auto list = directory.write("ids.txt", "read_id\n# of yesterday\na\n\n  b\tlong\r\nc,9\n");
  ReadSelection selection(options_of({{"reads", list.string()}}));
  selection.load();
  EXPECT_TRUE(selection.by_id());
  for (const char* const id : {"a", "b", "c"}) EXPECT_TRUE(selection.wants(id)) << id;
  for (const char* const id : {"", "read_id", "#", "long", "9", "aa"}) EXPECT_FALSE(selection.wants(id)) << id;
  EXPECT_GT(selection.memory_bytes(), 0U);
}

TEST(ReadSelection, NamesIdsThatNoFileHas) {
  const TempDirectory directory;
  const auto list = directory.write("ids.txt", "a\nb\nc\n");
  ReadSelection selection(options_of({{"reads", list.string()}}));
  selection.load();
  EXPECT_TRUE(selection.take("b"));
  EXPECT_THAT(selection.plan_notes(), ElementsAre("2 of 3 ids in " + list.string() + " are in no file: a c"));
  EXPECT_TRUE(selection.take("a"));
  EXPECT_TRUE(selection.take("c"));
  EXPECT_TRUE(selection.plan_notes().empty());
}

TEST(ReadSelection, StopsAtMaxReads) {
  ReadSelection selection(options_of({{"max_reads", std::int64_t{2}}}));
  EXPECT_EQ(selection.room(), 2U);
  EXPECT_TRUE(selection.take());
  EXPECT_TRUE(selection.take());
  EXPECT_FALSE(selection.take());
  EXPECT_EQ(selection.room(), 0U);
}

TEST(ReadSelection, FailsOnBadInputUnlessToldToSkip) {
  ReadSelection strict(options_of({}));
  const auto error = error_of([&] { strict.skip_file(Error("no reads here").at_path("/a")); });
  EXPECT_EQ(error->path(), "/a");
  EXPECT_THROW(strict.skip_read("duplicate", Error("twice")), Error);
}

TEST(ReadSelection, CountsWhatItSkips) {
  ReadSelection selection(options_of({{"on_bad_file", "skip"}}));
  selection.skip_file(Error("empty").at_path("/a"));
  selection.skip_file(Error("cut off").at_path("/b").at_offset(77), 12);
  selection.skip_read("duplicate read id", Error("twice").at_path("/c"));
  const Findings findings = selection.findings();
  EXPECT_THAT(findings.lines,
              ElementsAre("skipped: /a: empty", "skipped: /b, offset 77: cut off", "skipped: /c: twice"));
  ASSERT_EQ(findings.refused.size(), 2U);
  EXPECT_EQ(findings.refused[0].reason, "bad file");
  EXPECT_EQ(findings.refused[0].chunks, 13U);
  EXPECT_EQ(findings.refused[1].chunks, 1U);
}

TEST(ReadSelection, TellsOfTenSkipsAndCountsTheRest) {
  ReadSelection selection(options_of({{"on_bad_file", "skip"}}));
  for (int i = 0; i < 12; ++i) selection.skip_file(Error("empty"));
  EXPECT_EQ(selection.findings().lines.size(), 11U);
  EXPECT_EQ(selection.findings().lines.back(), "and 2 more");
}

TEST(ReadSelection, RefusesWhatItCannotUse) {
  EXPECT_THAT(error_of([] { ReadSelection(options_of({{"on_bad_file", "ignore"}})); })->what(), HasSubstr("\"skip\""));
  const TempDirectory directory;
  for (const auto& list : {directory.write("none.txt", "# nothing\n"), directory / "absent.txt"}) {
    ReadSelection selection(options_of({{"reads", list.string()}}));
    EXPECT_EQ(error_of([&] { selection.load(); })->path(), list);
  }
}

}  // namespace
}  // namespace millrace
