#include "pipeline/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace millrace {
namespace {

using testing::StrEq;

TEST(Error, BareMessageStandsAlone) {
  const Error error("no room");
  EXPECT_THAT(error.what(), StrEq("no room"));
  EXPECT_EQ(error.kind(), ErrorKind::run);
  EXPECT_EQ(error.message(), "no room");
  EXPECT_FALSE(error.chunk().has_value());
  EXPECT_FALSE(error.offset().has_value());
}

TEST(Error, PlaceIsWrittenInOneOrderWhateverTheOrderOfSetting) {
  Error error("truncated");
  error.at_offset(17).at_path("/data/a.fast5").at_chunk(3).in_stage("read");
  EXPECT_THAT(error.what(), StrEq("stage 'read', chunk 3, /data/a.fast5, offset 17: truncated"));
}

TEST(Error, OnlyTheKnownFieldsAreWritten) {
  EXPECT_THAT(Error("bad").at_chunk(0).what(), StrEq("chunk 0: bad"));
  EXPECT_THAT(Error("bad").at_offset(0).what(), StrEq("offset 0: bad"));
}

TEST(Error, FirstValueOfAFieldStays) {
  Error error("bad");
  error.in_stage("inner").at_chunk(1).at_path("/inner").at_offset(2).at_position({"inner.toml", 3, 4});
  error.in_stage("outer").at_chunk(9).at_path("/outer").at_offset(9).at_position({"outer.toml", 9, 9});
  EXPECT_EQ(error.stage(), "inner");
  EXPECT_EQ(error.chunk(), 1U);
  EXPECT_EQ(error.path(), "/inner");
  EXPECT_EQ(error.offset(), 2U);
  EXPECT_EQ(error.position().text(), "inner.toml:3:4");
}

TEST(Error, PositionInAConfigComesFirst) {
  EXPECT_THAT(config_error("unknown key 'slot'", {"run.toml", 12, 1}).what(),
              StrEq("run.toml:12:1: unknown key 'slot'"));
  Error error = config_error("needs i16 elements", {"run.toml", 12, 1});
  EXPECT_THAT(error.in_stage("decode").what(), StrEq("run.toml:12:1: stage 'decode': needs i16 elements"));
  EXPECT_EQ(error.kind(), ErrorKind::config);
}

TEST(Error, FileWithoutALineIsWrittenAlone) {
  EXPECT_THAT(config_error("is empty", {"run.toml", 0, 0}).what(), StrEq("run.toml: is empty"));
  EXPECT_THAT(config_error("is empty").what(), StrEq("is empty"));
}

TEST(Error, LineIsNotKnownUntilSomebodySaysIt) {
  Error error = config_error("bad", {"run.toml", 0, 0});
  error.at_position({"run.toml", 5, 6});
  EXPECT_THAT(error.what(), StrEq("run.toml:5:6: bad"));
}

TEST(Error, MessageOfALibraryIsMadeOneLine) {
  EXPECT_THAT(Error("first\nsecond\r\nthird").what(), StrEq("first second  third"));
}

TEST(Error, SystemErrorEndsInTheTextOfTheNumber) {
  EXPECT_THAT(system_error("cannot open", EACCES).at_path("/x").what(), StrEq("/x: cannot open: Permission denied"));
}

TEST(Error, CopiesAndRethrowsKeepEverything) {
  try {
    try {
      throw Error("bad").at_path("/x");
    } catch (Error& error) {
      error.in_stage("read");
      throw;
    }
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), StrEq("stage 'read', /x: bad"));
  }
}

}  // namespace
}  // namespace millrace
