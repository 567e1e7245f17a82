#include "io/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/support/small_disk.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

constexpr const char* kMountinfo =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n"
    "30 22 0:27 / /data rw,noatime - nfs4 server:/export rw,vers=4.2\n"
    "31 30 8:1 / /data/my\\040disk rw shared:7 master:1 - xfs /dev/sda1 rw,noquota\n"
    "32 22 0:28 / /data rw - tmpfs none rw\n"
    "not a mount\n";

TEST(Mounts, AreParsedWithTheirEscapes) {
  const auto mounts = parse_mounts(kMountinfo);
  ASSERT_EQ(mounts.size(), 4U);
  EXPECT_EQ(mounts[0].point, "/");
  EXPECT_EQ(mounts[0].device_number, "254:0");
  EXPECT_EQ(mounts[0].file_system, "ext4");
  EXPECT_EQ(mounts[0].options, "rw,relatime,rw,errors=remount-ro");
  EXPECT_EQ(mounts[2].point, "/data/my disk");
  EXPECT_EQ(mounts[2].device, "/dev/sda1");
}

TEST(Mounts, AreFoundByTheLongestPointAndTheLatestOfTwo) {
  const auto mounts = parse_mounts(kMountinfo);
  EXPECT_EQ(mount_of(mounts, "/home/x")->file_system, "ext4");
  EXPECT_EQ(mount_of(mounts, "/database")->file_system, "ext4") << "a name that begins alike";
  EXPECT_EQ(mount_of(mounts, "/data/x")->file_system, "tmpfs");
  EXPECT_EQ(mount_of(mounts, "/data/my disk/x")->file_system, "xfs");
  EXPECT_EQ(mount_of({}, "/x"), nullptr);
}

TEST(FileSystem, OfARealFileIsTheOneThatCoversIt) {
  const test::TempDirectory directory;
  const auto file = directory.write("a", "x");
  const auto mounts = current_mounts();
  const FileSystem facts = file_system_of(file, mounts);
  EXPECT_FALSE(facts.type.empty());
  EXPECT_FALSE(facts.mount_options.empty());
  EXPECT_GT(facts.prefetch_limit_bytes(), 0U);
  // A directory lies where its files lie; O_DIRECT is a matter of files.
  EXPECT_EQ(file_system_of(directory.path(), mounts).device, facts.device);
}

TEST(FileSystem, IsAskedOfThePathWhereNoMountCoversIt) {
  const test::TempDirectory directory;
  const auto file = directory.write("a", "x");
  const FileSystem seen = file_system_of(file);
  const FileSystem asked = file_system_of(file, {});
  EXPECT_FALSE(asked.type.empty());
  EXPECT_TRUE(asked.mount_options.starts_with("rw")) << asked.mount_options;
  EXPECT_EQ(asked.read_ahead_kb, seen.read_ahead_kb);
  EXPECT_EQ(asked.max_sectors_kb, seen.max_sectors_kb);
  EXPECT_EQ(asked.is_memory(), seen.is_memory());
  EXPECT_EQ(asked.direct_offset_alignment, seen.direct_offset_alignment);
}

TEST(FileSystem, OfAMissingPathIsNotKnownAndDoesNotThrow) {
  const FileSystem facts = file_system_of("/no/such/path/at all", {});
  EXPECT_EQ(facts.type, "");
  EXPECT_EQ(facts.read_ahead_kb, -1);
  EXPECT_EQ(facts.direct_memory_alignment, 0U);
}

TEST(FileSystem, WithoutANameIsItsNumber) { EXPECT_EQ(file_system_of("/proc/self/status", {}).type, "0x9fa0"); }

TEST(FileSystem, KnowsATmpfs) {
  const test::SmallDisk disk(1U << 20);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto file = disk.directory().write("a", "x");
  for (const auto& facts : {file_system_of(file), file_system_of(file, {})}) {
    EXPECT_EQ(facts.type, "tmpfs");
    EXPECT_TRUE(facts.is_memory());
    EXPECT_FALSE(facts.is_network());
    EXPECT_LT(facts.max_sectors_kb, 0);
  }
}

TEST(FileSystem, FindsTheRequestSizesOfANetworkInItsOptions) {
  const test::TempDirectory directory;
  const auto mounts =
      parse_mounts("22 1 0:250 / / rw,relatime - nfs4 server:/x rw,vers=4.2,rsize=1048576,wsize=65536\n");
  const FileSystem facts = file_system_of(directory.write("a", "x"), mounts);
  EXPECT_EQ(facts.type, "nfs4");
  EXPECT_EQ(facts.device, "server:/x");
  EXPECT_EQ(facts.rsize_bytes, 1048576);
  EXPECT_EQ(facts.wsize_bytes, 65536);
  EXPECT_EQ(facts.prefetch_limit_bytes(), 1048576U);
}

TEST(FileSystem, KindsAreToldByTheirNames) {
  struct Row {
    const char* type;
    bool network, fuse, memory;
  };
  for (const auto& row :
       {Row{"ext4", false, false, false}, Row{"nfs4", true, false, false}, Row{"fuse", false, true, false},
        Row{"fuse.sshfs", true, true, false}, Row{"fuseblk", false, true, false}, Row{"tmpfs", false, false, true},
        Row{"lustre", true, false, false}, Row{"", false, false, false}}) {
    FileSystem facts;
    facts.type = row.type;
    EXPECT_EQ(facts.is_network(), row.network) << row.type;
    EXPECT_EQ(facts.is_fuse(), row.fuse) << row.type;
    EXPECT_EQ(facts.is_memory(), row.memory) << row.type;
  }
}

TEST(FileSystem, OneAdviceCallFetchesTheLargerOfTwoSettings) {
  struct Row {
    const char* what;
    const char* type;
    std::int64_t read_ahead_kb, max_sectors_kb, rsize_bytes;
    std::uint64_t limit;
  };
  for (const auto& row :
       {Row{"read-ahead is larger", "ext4", 8192, 4096, -1, 8192U << 10},
        Row{"requests are larger", "ext4", 128, 1280, -1, 1280U << 10},
        Row{"small on purpose", "ext4", 16, 64, -1, 64U << 10}, Row{"not known", "ext4", -1, -1, -1, 128U << 10},
        Row{"FUSE with the default", "fuse", 128, -1, -1, 128U << 10},
        Row{"FUSE, lowered: reads are still of 128 KiB", "fuse", 24, -1, -1, 128U << 10},
        Row{"FUSE, raised", "fuse", 1024, -1, -1, 1024U << 10}, Row{"NFS", "nfs4", 128, -1, 1 << 20, 1U << 20}}) {
    FileSystem facts;
    facts.type = row.type;
    facts.read_ahead_kb = row.read_ahead_kb;
    facts.max_sectors_kb = row.max_sectors_kb;
    facts.rsize_bytes = row.rsize_bytes;
    EXPECT_EQ(facts.prefetch_limit_bytes(), row.limit) << row.what;
  }
}

}  // namespace
}  // namespace millrace::io
