#include "apps/output_hash.h"

#include <gtest/gtest.h>

#include "pipeline/core/error.h"
#include "tests/support/temp_directory.h"

namespace millrace::apps {
namespace {

// FIPS 180-2, appendix B.
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfMillionA = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(OutputHash, IsSha256) {
  EXPECT_EQ(sha256_of("abc"), kOfAbc);
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')), kOfMillionA);
}

TEST(OutputHash, OfAFileIsThatOfItsBytes) {
  const test::TempDirectory directory;
  EXPECT_EQ(sha256_of_file(directory.write("abc", "abc")), kOfAbc);
  EXPECT_EQ(sha256_of_file(directory.write("a", std::string(1'000'000, 'a'))), kOfMillionA);
  EXPECT_EQ(sha256_of_file(directory.write("empty", "")), sha256_of(""));
}

TEST(OutputHash, OfWhatIsNoFileIsAnError) {
  const test::TempDirectory directory;
  EXPECT_THROW(sha256_of_file(directory / "absent"), Error);
  EXPECT_THROW(sha256_of_file(directory.path()), Error);
}

TEST(SyncFileSystems, TakesFilesThatAreThere) {
  const test::TempDirectory directory;
  sync_file_systems_of({directory.write("a", "1"), directory.write("b", "2")});
  EXPECT_THROW(sync_file_systems_of({directory / "absent"}), Error);
}

}  // namespace
}  // namespace millrace::apps
