#include "apps/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "io/file_system.h"
#include "io/page_cache.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_directory.h"

namespace millrace::apps {
namespace {

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
  EXPECT_EQ(environment.paths[0].max_sectors_kb, io::file_system_of(c).max_sectors_kb);
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
  EXPECT_FALSE(look_at_cache({}).in_memory);
}

TEST(DeviceBytes, CountWhatAColdReadTakesFromTheDevice) {
  const test::TempDirectory directory;
  const auto file = directory.write("a", std::string(1U << 20, 'x'));
  if (!counts_device_bytes({file})) GTEST_SKIP() << "no block device is below " << directory.path();
  ASSERT_EQ(io::evict(file), 0U);
  const std::int64_t before = device_bytes_read();
  EXPECT_EQ(test::contents_of(file).size(), 1U << 20);
  EXPECT_GE(device_bytes_read() - before, 1 << 20);
}

TEST(DeviceBytes, AreNotCountedForFilesInMemory) {
  const test::SmallDisk disk(1U << 20);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto file = disk.directory().write("a", "x");
  EXPECT_FALSE(counts_device_bytes({file}));
  EXPECT_TRUE(look_at_cache({file}).in_memory);
  EXPECT_FALSE(counts_device_bytes({}));
}

}  // namespace
}  // namespace millrace::apps
