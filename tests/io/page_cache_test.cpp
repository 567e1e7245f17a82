#include "io/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_directory.h"
#include "tests/support/unprivileged.h"

namespace millrace::io {
namespace {

class ResidentBytes : public testing::Test {
 protected:
  test::TempDirectory directory_;
};

TEST_F(ResidentBytes, AreAllOfAFileJustWritten) {
  EXPECT_EQ(resident_bytes(directory_.write("a", std::string(100'001, 'x'))), 100'001U);
}

TEST_F(ResidentBytes, AreNoneOfAFileThatWasEvicted) {
  const auto file = directory_.write("a", std::string(8 << 20, 'x'));
  const int descriptor = ::open(file.c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  ::fsync(descriptor);
  const int refused = ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  if (refused != 0) GTEST_SKIP() << "this file system takes no advice";
  const auto resident = resident_bytes(file);
  if (resident == 8U << 20) GTEST_SKIP() << "this file system keeps its files in memory";
  EXPECT_EQ(resident, 0U);
}

TEST_F(ResidentBytes, OfAnEmptyFileAreZero) { EXPECT_EQ(resident_bytes(directory_.write("a", "")), 0U); }

TEST_F(ResidentBytes, AreUnknownForWhatIsNoFile) {
  EXPECT_EQ(resident_bytes(directory_ / "missing"), std::nullopt);
  EXPECT_EQ(resident_bytes(directory_.path()), std::nullopt);
  EXPECT_EQ(resident_bytes("/dev/zero"), std::nullopt);
}

TEST_F(ResidentBytes, AreUnknownForAFileOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a file of another user";
  const auto file = directory_.write("a", "xxxx");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const test::Unprivileged nobody;
  ASSERT_TRUE(nobody.dropped());
  EXPECT_EQ(resident_bytes(file), std::nullopt);
}

}  // namespace
}  // namespace millrace::io
