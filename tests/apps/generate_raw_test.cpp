#include "apps/generate_raw.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "pipeline/core/error.h"
#include "stages/counter_random.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::TempDirectory;

TEST(GenerateRaw, EveryByteIsAFunctionOfSeedAndPlace) {
  const TempDirectory directory;
  generate_raw(directory / "raw", 3'000'001, 7);
  const std::string contents = test::contents_of(directory / "raw");
  ASSERT_EQ(contents.size(), 3'000'001U);
  for (const std::size_t place : {0U, 8U, 1'048'576U, 2'999'992U}) {
    std::uint64_t word;
    std::memcpy(&word, contents.data() + place, sizeof word);
    EXPECT_EQ(word, counter_random(7, 0, place / 8)) << place;
  }
}

TEST(GenerateRaw, AShorterFileIsThePrefixOfALongerOne) {
  const TempDirectory directory;
  generate_raw(directory / "long", 10'000, 1);
  generate_raw(directory / "short", 777, 1);
  generate_raw(directory / "empty", 0, 1);
  EXPECT_EQ(test::contents_of(directory / "short"), test::contents_of(directory / "long").substr(0, 777));
  EXPECT_EQ(test::contents_of(directory / "empty"), "");
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"empty", "long", "short"}));
}

TEST(GenerateRaw, SaysWhereItCannotWrite) {
  const TempDirectory directory;
  EXPECT_THROW(generate_raw(directory / "absent" / "raw", 10, 1), Error);
}

}  // namespace
}  // namespace millrace
