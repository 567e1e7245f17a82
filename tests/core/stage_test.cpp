#include "pipeline/core/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::StrEq;

TEST(ChunkType, RequireGivesTheTypeBackWhenItFits) {
  const ChunkType type{DType::i16, "signal", 4ULL << 20U};
  EXPECT_EQ(&type.require(DType::i16), &type);
  EXPECT_EQ(&type.require("signal"), &type);
}

TEST(ChunkType, RequireNamesWhatIsWantedAndWhatComes) {
  const ChunkType type{DType::i16, "signal", 4ULL << 20U};
  try {
    (void)type.require(DType::f32);
    FAIL() << "i16 is not f32";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_THAT(error.what(), StrEq("needs f32 elements, but its input is i16 signal, up to 4.00 MiB"));
  }
  try {
    (void)type.require("events");
    FAIL() << "signal is not events";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_THAT(error.what(), StrEq("needs 'events' chunks, but its input is i16 signal, up to 4.00 MiB"));
  }
}

TEST(ChunkType, TextLeavesOutAnUnknownBound) { EXPECT_EQ((ChunkType{DType::u8, "bytes", 0}).text(), "u8 bytes"); }

TEST(AbiTag, IsInEveryProgramThatIncludesTheStageHeader) {
  EXPECT_STREQ(millrace_abi_tag, MILLRACE_ABI_TAG);
  EXPECT_STREQ(millrace_abi_tag, "millrace-abi-" MILLRACE_ABI_NUMBER "-cxx11");
}

}  // namespace
}  // namespace millrace
