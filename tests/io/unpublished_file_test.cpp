#include "io/unpublished_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/open_descriptors.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::contents_of;
using test::error_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Road = UnpublishedFile::Road;

void write_to(const UnpublishedFile& file, const std::string& text) {
  EXPECT_EQ(::write(file.descriptor().get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

class EveryRoad : public testing::TestWithParam<Road> {
 protected:
  void SetUp() override {
    if (UnpublishedFile(directory_ / "probe", GetParam()).road() != GetParam()) {
      GTEST_SKIP() << "the file system has no files without a name";
    }
  }

  TempDirectory directory_;
};

TEST_P(EveryRoad, HasItsNameOnlyWhenItIsPublished) {
  const auto before = test::open_descriptors();
  {
    UnpublishedFile file(directory_ / "out", GetParam());
    write_to(file, "abc");
    EXPECT_EQ(directory_.names().size(), GetParam() == Road::named ? 1U : 0U);
    EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
    file.publish(directory_ / "out");
    file.sync_name();
  }
  EXPECT_THAT(directory_.names(), ElementsAre("out"));
  EXPECT_EQ(contents_of(directory_ / "out"), "abc");
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_P(EveryRoad, ReplacesWhatHasTheName) {
  directory_.write("out", "old");
  {
    UnpublishedFile file(directory_ / "out", GetParam());
    write_to(file, "new");
    EXPECT_EQ(contents_of(directory_ / "out"), "old");
    file.publish(directory_ / "out");
  }
  EXPECT_THAT(directory_.names(), ElementsAre("out"));
  EXPECT_EQ(contents_of(directory_ / "out"), "new");
  struct stat status {};
  ASSERT_EQ(::stat((directory_ / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_nlink, 1U);
}

TEST_P(EveryRoad, GoesWithItsObjectUnlessPublished) {
  {
    const UnpublishedFile file(directory_ / "out", GetParam());
    write_to(file, "abc");
  }
  EXPECT_THAT(directory_.names(), IsEmpty());
}

TEST_P(EveryRoad, CanBePublishedAfterItFailed) {
  std::filesystem::create_directory(directory_ / "taken");
  {
    UnpublishedFile file(directory_ / "taken", GetParam());
    write_to(file, "abc");
    const auto error = error_of([&] { file.publish(directory_ / "taken"); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("cannot give the finished file its name: Is a directory"));
    EXPECT_EQ(error->path(), directory_ / "taken");
    file.publish(directory_ / "out");
  }
  EXPECT_THAT(directory_.names(), ElementsAre("out", "taken"));
  EXPECT_EQ(contents_of(directory_ / "out"), "abc");
}

TEST_P(EveryRoad, LeavesNothingWhenItCannotBePublished) {
  std::filesystem::create_directory(directory_ / "taken");
  {
    UnpublishedFile file(directory_ / "taken", GetParam());
    EXPECT_THROW(file.publish(directory_ / "taken"), Error);
    EXPECT_THROW(file.publish(directory_ / "missing" / "out"), Error);
  }
  EXPECT_THAT(directory_.names(), ElementsAre("taken"));
}

TEST_P(EveryRoad, KeepsTheDescriptorsThatItGaveAfterItsEnd) {
  FileDescriptor kept;
  {
    const UnpublishedFile file(directory_ / "out", GetParam());
    kept = file.descriptor();
  }
  EXPECT_EQ(::write(kept.get(), "x", 1), 1);
}

INSTANTIATE_TEST_SUITE_P(UnpublishedFile, EveryRoad, testing::Values(Road::unnamed, Road::named),
                         [](const auto& road) { return road.param == Road::unnamed ? "unnamed" : "named"; });

TEST(UnpublishedFile, TheNamedRoadNamesTheTargetAndTheProcess) {
  const TempDirectory directory;
  const UnpublishedFile file(directory / "out.bin", Road::named);
  ASSERT_EQ(directory.names().size(), 1U);
  EXPECT_TRUE(directory.names().front().starts_with(".out.bin." + std::to_string(::getpid()) + "-"));
  const UnpublishedFile long_one(directory / std::string(255, 'n'), Road::named);
  EXPECT_EQ(directory.names().size(), 2U);
}

TEST(UnpublishedFile, SaysWhatIsWrongWithThePlace) {
  const auto error = error_of([] { UnpublishedFile("/proc/out"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("cannot create"));
}

TEST(RemoveLiveTemporaries, RemovesWhatIsNotPublishedYet) {
  const TempDirectory directory;
  UnpublishedFile done(directory / "done", Road::named);
  done.publish(directory / "done");
  UnpublishedFile running(directory / "running", Road::named);
  EXPECT_EQ(directory.names().size(), 2U);
  remove_live_temporaries();
  EXPECT_THAT(directory.names(), ElementsAre("done"));
  remove_live_temporaries();
  EXPECT_THROW(running.publish(directory / "running"), Error);
  EXPECT_THAT(directory.names(), ElementsAre("done"));
}

}  // namespace
}  // namespace millrace::io
