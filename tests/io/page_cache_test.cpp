#include "io/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>

#include "io/file_descriptor.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"
#include "tests/support/unprivileged.h"

namespace millrace::io {
namespace {

using State = Residency::State;
using test::error_of;

constexpr std::uint64_t kMiB = 1U << 20;

class PageCache : public testing::Test {
 protected:
  /// A file that the page cache holds nothing of; false where the file system keeps its files.
  bool write_cold(const std::string& name, std::uint64_t bytes) {
    file_ = directory_.write(name, std::string(bytes, 'x'));
    return evict(file_) == 0U;
  }

  test::TempDirectory directory_;
  std::filesystem::path file_;
};

TEST_F(PageCache, HoldsAllOfAFileJustWritten) {
  const auto file = directory_.write("a", std::string(100'001, 'x'));
  EXPECT_EQ(resident_bytes(file), 100'001U);
  EXPECT_NE(residency_of(file).state, State::cold);
  EXPECT_EQ(residency_of(file).file_bytes, 100'001U);
}

TEST_F(PageCache, HoldsNothingOfAFileThatWasEvictedDirty) {
  if (!write_cold("a", 8 * kMiB)) GTEST_SKIP() << "this file system keeps its files in memory";
  EXPECT_EQ(resident_bytes(file_), 0U);
  EXPECT_EQ(residency_of(file_).state, State::cold);
}

TEST_F(PageCache, IsAskedForAPartOfAFile) {
  if (!write_cold("a", 8 * kMiB)) GTEST_SKIP() << "this file system keeps its files in memory";
  const FileDescriptor opened = open_input(file_);
  ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_RANDOM);  // no read-ahead
  std::string bytes(kMiB, '\0');
  ASSERT_EQ(::pread(opened.get(), bytes.data(), kMiB, 2 * kMiB), static_cast<ssize_t>(kMiB));
  EXPECT_EQ(resident_in(opened.get(), {2 * kMiB, kMiB}), kMiB);
  EXPECT_EQ(resident_in(opened.get(), {2 * kMiB + 5, 7}), 7U) << "inside a page";
  EXPECT_EQ(resident_in(opened.get(), {kMiB, 2 * kMiB}), kMiB);
  EXPECT_EQ(resident_in(opened.get(), {4 * kMiB, kMiB}), 0U);
  EXPECT_EQ(residency_of(file_).state, State::warm);
}

TEST_F(PageCache, HasNothingBeyondTheEnd) {
  const auto file = directory_.write("a", std::string(10'000, 'x'));
  const FileDescriptor opened = open_input(file);
  EXPECT_EQ(resident_in(opened.get(), {0, 1ULL << 40}), 10'000U);
  EXPECT_EQ(resident_in(opened.get(), {9'999, ~0ULL - 9'999}), 1U);
  EXPECT_EQ(resident_in(opened.get(), {10'000, 1}), 0U);
  EXPECT_EQ(resident_in(opened.get(), {~0ULL, ~0ULL}), 0U);
  EXPECT_EQ(resident_in(opened.get(), {5, 0}), 0U);
}

TEST_F(PageCache, OfAnEmptyFileHoldsNothing) {
  EXPECT_EQ(resident_bytes(directory_.write("a", "")), 0U);
  EXPECT_EQ(evict(directory_ / "a"), 0U);
}

TEST_F(PageCache, IsUnknownForWhatIsNoFile) {
  EXPECT_EQ(resident_bytes(directory_ / "missing"), std::nullopt);
  EXPECT_EQ(resident_bytes(directory_.path()), std::nullopt);
  EXPECT_EQ(resident_bytes("/dev/zero"), std::nullopt);
  EXPECT_EQ(residency_of("/dev/zero").state, State::unknown);
  EXPECT_EQ(resident_in(-1, {0, 1}), std::nullopt);
  EXPECT_TRUE(error_of([&] { evict(directory_ / "missing"); }));
}

TEST_F(PageCache, IsUnknownForAFileOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a file of another user";
  const auto file = directory_.write("a", "xxxx");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const test::Unprivileged nobody;
  ASSERT_TRUE(nobody.dropped());
  EXPECT_EQ(resident_bytes(file), std::nullopt);
  EXPECT_EQ(residency_of(file).state, State::unknown);
}

TEST_F(PageCache, KeepsWhatIsMappedAndTouchedAndEvictSaysSo) {
  if (!write_cold("a", 4 * kMiB)) GTEST_SKIP() << "this file system keeps its files in memory";
  const FileDescriptor opened = open_input(file_);
  void* const memory = ::mmap(nullptr, 4 * kMiB, PROT_READ, MAP_SHARED | MAP_POPULATE, opened.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(evict(file_), 4 * kMiB);
  ::munmap(memory, 4 * kMiB);
  EXPECT_EQ(evict(file_), 0U);
}

TEST_F(PageCache, OfATmpfsIsMemory) {
  const test::SmallDisk disk(4 * kMiB);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto file = disk.directory().write("a", std::string(kMiB, 'x'));
  EXPECT_EQ(residency_of(file).state, State::memory);
  EXPECT_EQ(evict(file), kMiB) << "there is no device that it could be on";
}

/// cachestat answers 0 for every file of an overlay.
TEST_F(PageCache, IsAskedAnotherWayOnAnOverlay) {
  for (const char* name : {"lower/x", "upper/x", "work/x", "merged/x"}) directory_.write(name, "");
  const std::string options = "lowerdir=" + (directory_ / "lower").string() +
                              ",upperdir=" + (directory_ / "upper").string() +
                              ",workdir=" + (directory_ / "work").string();
  const auto merged = directory_ / "merged";
  if (::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) != 0) {
    GTEST_SKIP() << "an overlay cannot be mounted here";
  }
  const auto file = directory_.write("merged/a", std::string(2 * kMiB, 'x'));
  EXPECT_EQ(resident_bytes(file), 2 * kMiB);
  {
    const FileDescriptor opened = open_input(file);
    EXPECT_TRUE(is_slow_to_ask(opened.get()));
  }
  const auto left = evict(file);
  ::umount2(merged.c_str(), MNT_DETACH);
  if (residency_of(directory_ / "upper/a").state != State::memory) {
    EXPECT_EQ(left, 0U);
  }
}

}  // namespace
}  // namespace millrace::io
