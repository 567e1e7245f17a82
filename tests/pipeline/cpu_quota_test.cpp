#include "pipeline/cpu_quota.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

class CpuQuota : public testing::Test {
 protected:
  std::optional<double> quota(const std::string& memberships, const std::string& mounts) const {
    return cgroup_cpu_quota({memberships, mounts});
  }
  std::string v2_mount(const std::string& root = "/") const {
    return "30 23 0:26 " + root + " " + directory_.path().string() + " rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
  }
  std::string v1_mount() const {
    return "31 23 0:27 / " + directory_.path().string() + " rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n";
  }

  test::TempDirectory directory_;
};

TEST_F(CpuQuota, OfVersion2IsQuotaOverPeriod) {
  directory_.write("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota("0::/a/b\n", v2_mount()), 1.5);
}

TEST_F(CpuQuota, OfVersion2IsTheSmallestOnTheWayUp) {
  directory_.write("a/b/cpu.max", "400000 100000\n");
  directory_.write("a/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota("0::/a/b\n", v2_mount()), 2.0);
}

TEST_F(CpuQuota, IsNothingWithoutALimit) {
  directory_.write("a/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a\n", v2_mount()), std::nullopt);
  EXPECT_EQ(quota("", ""), std::nullopt);
  EXPECT_EQ(quota("nonsense", "nonsense - x\n"), std::nullopt);
}

TEST_F(CpuQuota, IsFoundFromInsideAContainer) {
  directory_.write("cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/docker/123\n", v2_mount("/docker/123")), 0.5);
  EXPECT_EQ(quota("0::/elsewhere/not/here\n", v2_mount()), 0.5) << "the mount point is the last resort";
}

TEST_F(CpuQuota, OfVersion1HasTwoFiles) {
  directory_.write("job/cpu.cfs_quota_us", "300000\n");
  directory_.write("job/cpu.cfs_period_us", "100000\n");
  directory_.write("cpu.cfs_quota_us", "-1\n");
  directory_.write("cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("4:cpu,cpuacct:/job\n3:memory:/other\n", v1_mount()), 3.0);
  EXPECT_EQ(quota("4:cpu,cpuacct:/\n", v1_mount()), std::nullopt);
}

}  // namespace
}  // namespace millrace
