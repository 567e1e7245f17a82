#include "io/read_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::io {
namespace {

using Kind = AdvicePolicy::Kind;
using Scope = AdvicePolicy::Scope;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1U << 20;

ReadVia willneed(std::uint64_t window, std::uint64_t step, Scope scope = Scope::window) {
  ReadVia via;
  via.advice = {Kind::willneed, scope, window, step};
  return via;
}

/// One call fetches 1.25 MiB there.
FileSystem disk() {
  FileSystem facts;
  facts.type = "ext4";
  facts.read_ahead_kb = 128;
  facts.max_sectors_kb = 1280;
  return facts;
}

FileSystem of_type(const std::string& type) {
  FileSystem facts;
  facts.type = type;
  return facts;
}

std::vector<std::string> warnings(const ReadVia& via, const FileSystem& facts) {
  return read_warnings(via, facts, 512 * kMiB);
}

TEST(ReadWarnings, AreNoneForWhatWorks) {
  EXPECT_THAT(warnings({}, disk()), IsEmpty());
  EXPECT_THAT(warnings({}, of_type("nfs4")), IsEmpty());
  EXPECT_THAT(warnings({}, of_type("tmpfs")), IsEmpty());
  EXPECT_THAT(warnings(willneed(16 * kMiB, kMiB), disk()), IsEmpty());
  EXPECT_THAT(warnings(willneed(16 * kMiB, 0), disk()), IsEmpty()) << "the device's own step";
}

TEST(ReadWarnings, TellOfAStepThatOneCallCannotFetch) {
  EXPECT_THAT(warnings(willneed(16 * kMiB, 8 * kMiB), disk()),
              ElementsAre(HasSubstr("a step of 8.00 MiB is more than one call prefetches here (1.25 MiB)")));
  EXPECT_THAT(warnings(willneed(kMiB, 8 * kMiB), disk()), IsEmpty()) << "no step is larger than the window";
}

TEST(ReadWarnings, TellOfAWindowWithinTheKernelsOwn) {
  FileSystem facts = disk();
  facts.read_ahead_kb = 8192;
  EXPECT_THAT(warnings(willneed(4 * kMiB, kMiB), facts),
              ElementsAre(HasSubstr("a window of 4.00 MiB is less than the kernel's own read-ahead (8.00 MiB)")));
  EXPECT_THAT(warnings(willneed(8 * kMiB, kMiB), facts), IsEmpty());
}

TEST(ReadWarnings, TellHowLittleOfAFileOneCallFetches) {
  const ReadVia via = willneed(16 * kMiB, 0, Scope::file);
  EXPECT_THAT(warnings(via, disk()), ElementsAre(HasSubstr("prefetches at most 1.25 MiB here, of 512 MiB")));
  EXPECT_THAT(read_warnings(via, disk(), kMiB), IsEmpty());
}

TEST(ReadWarnings, TellOfFilesInMemory) {
  ReadVia via;
  via.drop_behind = true;
  EXPECT_THAT(warnings(via, of_type("tmpfs")), ElementsAre(HasSubstr("on tmpfs, in memory")));
  EXPECT_THAT(warnings(willneed(16 * kMiB, 8 * kMiB), of_type("tmpfs")), ElementsAre(HasSubstr("do nothing")));
}

}  // namespace
}  // namespace millrace::io
