#include "apps/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_directory.h"

namespace millrace::apps {
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

TEST(DescribeEnvironment, KnowsThisMachine) {
  const test::TempDirectory directory;
  const auto a = directory.write("in/a", "x");
  const auto b = directory.write("in/b", "x");
  const auto c = directory.write("c", "x");
  const Environment environment = describe_environment({a, b, c, a, directory / "missing/file"});
  EXPECT_FALSE(environment.host.empty());
  EXPECT_EQ(environment.kernel.substr(0, 6), "Linux ");
  EXPECT_EQ(environment.millrace_version, MILLRACE_VERSION);
  ASSERT_EQ(environment.paths.size(), 3U);
  EXPECT_EQ(environment.paths[0].path, std::filesystem::canonical(c).string()) << "alone in its directory";
  EXPECT_EQ(environment.paths[1].path, std::filesystem::canonical(directory / "in").string()) << "stands for two";
  EXPECT_FALSE(environment.paths[0].file_system.empty());
  EXPECT_FALSE(environment.paths[0].mount_options.empty());
}

TEST(LookAtCache, AddsUpSizesAndSaysUnknownWhenOneIs) {
  const test::TempDirectory directory;
  const auto a = directory.write("a", std::string(10'000, 'x'));
  const auto b = directory.write("b", std::string(20'000, 'x'));
  const InputCache both = look_at_cache({a, b});
  EXPECT_EQ(both.bytes, 30'000U);
  EXPECT_EQ(both.resident_fraction, 1.0) << "just written";
  EXPECT_LT(look_at_cache({a, directory / "missing"}).resident_fraction, 0);
  EXPECT_LT(look_at_cache({}).resident_fraction, 0);
  EXPECT_EQ(look_at_cache({}).bytes, 0U);
}

}  // namespace
}  // namespace millrace::apps
