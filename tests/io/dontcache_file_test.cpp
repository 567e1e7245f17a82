#include "io/dontcache_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/page_cache.h"
#include "io/transports.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::error_of;
using test::TempDirectory;
using test::text_of;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1ULL << 20;

/// Puts a file on the device and out of the page cache.
void evict(const std::filesystem::path& path) {
  const FileDescriptor file = open_input(path);
  ASSERT_EQ(::fdatasync(file.get()), 0);
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
}

TEST(DontcacheReader, LeavesNothingInThePageCache) {
  const TempDirectory directory;
  const std::string contents(8 * kMiB + 5, 'x');
  const auto path = directory.write("a", contents);
  if (const Probe probe = DontcacheReader::probe(path); !probe.works) GTEST_SKIP() << probe.reason;
  evict(path);
  DontcacheReader reader(path);
  EXPECT_EQ(text_of(reader.read({0, contents.size()})), contents);
  EXPECT_LE(resident_bytes(path).value(), kMiB);
  EXPECT_EQ(reader.stats().transport_used, "dontcache");
}

TEST(DontcacheReader, KeepsWhatWasInThePageCacheBefore) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(kMiB, 'x'));
  if (const Probe probe = DontcacheReader::probe(path); !probe.works) GTEST_SKIP() << probe.reason;
  DontcacheReader(path).read({0, kMiB});
  EXPECT_EQ(resident_bytes(path), kMiB);
}

TEST(DontcacheReader, ItsProbeFetchesNothing) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(kMiB, 'x'));
  if (const Probe probe = DontcacheReader::probe(path); !probe.works) GTEST_SKIP() << probe.reason;
  evict(path);
  EXPECT_TRUE(DontcacheReader::probe(path).works);
  EXPECT_EQ(resident_bytes(path), 0U);
}

TEST(DontcacheWriter, LeavesNothingInThePageCacheOnceItIsSynced) {
  const TempDirectory directory;
  if (const Probe probe = DontcacheWriter::probe(directory.path()); !probe.works) GTEST_SKIP() << probe.reason;
  const std::string block(kMiB, 'x');
  DontcacheWriter writer(create_output(directory / "a"), directory / "a");
  for (std::uint64_t i = 0; i < 16; ++i) writer.write(i * kMiB, bytes_of(block));
  writer.sync();
  EXPECT_LE(resident_bytes(directory / "a").value(), 2 * kMiB);
  EXPECT_EQ(std::filesystem::file_size(directory / "a"), 16 * kMiB);
}

TEST(Dontcache, IsRefusedWithAReasonWhereTheFileSystemCannot) {
  const test::SmallDisk disk(kMiB);  // a tmpfs
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  for (const Probe& probe :
       {DontcacheReader::probe(disk.directory().write("a", "abc")), DontcacheWriter::probe(disk.directory().path())}) {
    EXPECT_FALSE(probe.works);
    EXPECT_THAT(probe.reason, HasSubstr("RWF_DONTCACHE"));
  }
  EXPECT_EQ(disk.directory().names().size(), 1U) << "the probe left a file";
  ReadVia via;
  via.transport = via.transport_requested = "dontcache";
  via.fallback = "buffered";
  settle(via, {disk.directory() / "a"});
  EXPECT_EQ(via.transport, "buffered");
  EXPECT_THAT(via.note, HasSubstr("RWF_DONTCACHE"));
}

TEST(Dontcache, AProbeOfNothingSaysWhy) {
  const TempDirectory directory;
  EXPECT_THAT(DontcacheReader::probe(directory / "missing").reason, HasSubstr("no such file"));
  EXPECT_THAT(DontcacheWriter::probe(directory / "missing").reason, HasSubstr("cannot create"));
}

}  // namespace
}  // namespace millrace::io
