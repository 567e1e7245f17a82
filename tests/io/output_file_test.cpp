#include "io/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pipeline/core/call_context.h"
#include "pipeline/core/clock.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"
#include "tests/support/unprivileged.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;
using test::error_of;
using test::TempDirectory;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

WriteVia failing(Fault fault) {
  WriteVia via;
  via.fault = fault;
  return via;
}

TEST(OutputFile, AppearsUnderItsNameOnlyWhenItIsPublished) {
  const TempDirectory directory;
  monotonic_clock().thread_usage();  // opens a file that stays open for the thread
  const auto before = test::open_descriptors();
  OutputFile output(directory / "out.bin", {});
  EXPECT_THAT(directory.names(), IsEmpty());
  output.append("hello ");
  output.append(std::string(100 << 10, 'x'));
  EXPECT_THAT(directory.names(), Not(Contains("out.bin")));
  EXPECT_THAT(output.outputs(), IsEmpty());
  output.publish();
  EXPECT_THAT(directory.names(), ElementsAre("out.bin"));
  EXPECT_EQ(contents_of(directory / "out.bin"), "hello " + std::string(100 << 10, 'x'));
  ASSERT_EQ(output.outputs().size(), 1U);
  EXPECT_EQ(output.outputs().front().path, std::filesystem::canonical(directory / "out.bin"));
  EXPECT_EQ(output.outputs().front().bytes, 6U + (100U << 10));
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(OutputFile, IsEmptyWhenNothingCame) {
  const TempDirectory directory;
  OutputFile output(directory / "out", {});
  output.publish();
  EXPECT_EQ(contents_of(directory / "out"), "");
  EXPECT_EQ(output.outputs().front().bytes, 0U);
}

TEST(OutputFile, KeepsTheOutputOfAnInterruptedRunUnderAnotherName) {
  const TempDirectory directory;
  directory.write("out", "of an earlier run");
  OutputFile output(directory / "out", {});
  output.append("half");
  output.finish(Sink::End::interrupted);
  EXPECT_THAT(directory.names(), ElementsAre("out", "out.partial"));
  EXPECT_EQ(contents_of(directory / "out.partial"), "half");
  EXPECT_EQ(contents_of(directory / "out"), "of an earlier run");
  EXPECT_EQ(output.outputs().front().path.filename(), "out.partial");
}

TEST(OutputFile, ReplacesAnOlderFileWhenComplete) {
  const TempDirectory directory;
  directory.write("out", "old");
  OutputFile output(directory / "out", {});
  output.append("new");
  output.finish(Sink::End::complete);
  EXPECT_EQ(contents_of(directory / "out"), "new");
}

TEST(OutputFile, LeavesNothingWhenDiscardedOrForgotten) {
  const TempDirectory directory;
  monotonic_clock().thread_usage();  // keeps a descriptor open for the life of the thread
  const auto before = test::open_descriptors();
  {
    OutputFile forgotten(directory / "a", {});
    forgotten.append(std::string(1 << 20, 'x'));
    OutputFile discarded(directory / "b", {});
    discarded.append(std::string(1 << 20, 'x'));
    discarded.discard();
    discarded.discard();
    EXPECT_THROW(discarded.append("more"), Error);
    EXPECT_THROW(discarded.publish(), Error);
    EXPECT_EQ(discarded.stats().bytes, 1U << 20);
    OutputFile untouched(directory / "c", {});
  }
  EXPECT_THAT(directory.names(), IsEmpty());
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(OutputFile, ADiscardAfterPublishingTakesNothingBack) {
  const TempDirectory directory;
  OutputFile output(directory / "out", {});
  output.append("x");
  output.publish();
  output.discard();
  EXPECT_THAT(directory.names(), ElementsAre("out"));
  EXPECT_EQ(output.outputs().size(), 1U);
}

TEST(OutputFile, GathersSmallPiecesAndCountsTheCopies) {
  const TempDirectory directory;
  call_context().tally = {};
  OutputFile output(directory / "out", {});
  std::string expected;
  for (int i = 0; i < 100'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    output.append(line);
    expected += line;
  }
  EXPECT_EQ(call_context().tally.copied_bytes, expected.size());
  EXPECT_EQ(output.size(), expected.size());
  output.publish();
  EXPECT_EQ(contents_of(directory / "out"), expected);
  EXPECT_LE(output.stats().calls, expected.size() / (200 << 10) + 1);
  call_context().tally = {};
}

TEST(OutputFile, WritesLargePiecesAsTheyAre) {
  const TempDirectory directory;
  call_context().tally = {};
  OutputFile output(directory / "out", {});
  const std::string block(64 << 10, 'x');
  for (int i = 0; i < 10; ++i) output.append(block);
  EXPECT_EQ(call_context().tally.copied_bytes, 0U);
  EXPECT_EQ(output.stats().calls, 10U);
}

TEST(OutputFile, KeepsTheOrderOfSmallAndLargePieces) {
  const TempDirectory directory;
  std::mt19937_64 random(1);
  OutputFile output(directory / "out", {});
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::size_t bytes = random() % 2 == 0 ? random() % 100 : random() % (100 << 10);
    const std::string piece(bytes, static_cast<char>('a' + i % 26));
    output.append(piece);
    expected += piece;
  }
  output.publish();
  EXPECT_EQ(contents_of(directory / "out"), expected);
}

TEST(OutputFile, OverwritesOnlyWhatIsThere) {
  const TempDirectory directory;
  OutputFile output(directory / "out", {});
  output.append("count=0 abc");
  output.overwrite(6, bytes_of("9"));
  output.append("def");
  EXPECT_EQ(error_of([&] { output.overwrite(13, bytes_of("xx")); })->offset(), 13U);
  EXPECT_THROW(output.overwrite(~0ULL, bytes_of("x")), Error);
  output.publish();
  EXPECT_EQ(contents_of(directory / "out"), "count=9 abcdef");
}

TEST(OutputFile, SyncsAsItIsTold) {
  const TempDirectory directory;
  const std::string block(100 << 10, 'x');
  struct Case {
    Fsync fsync;
    std::uint64_t syncs;  // of the file, and of the directory
  };
  for (const auto& [fsync, syncs] :
       {Case{Fsync::never, 0}, Case{Fsync::close, 1 + 1}, Case{Fsync::interval, 2 + 1 + 1}}) {
    WriteVia via;
    via.fsync = fsync;
    via.fsync_bytes = 2 * block.size();
    OutputFile output(directory / "out", via);
    for (int i = 0; i < 5; ++i) output.append(block);
    output.publish();
    EXPECT_EQ(output.stats().fsync_calls, syncs);
    EXPECT_EQ(output.stats().fsync_ns > 0, syncs > 0);
    EXPECT_EQ(output.stats().bytes, 5 * block.size());
  }
}

TEST(OutputFile, ChecksItsPlaceBeforeTheRun) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "folder");
  directory.write("file", "x");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  const std::vector<std::pair<std::filesystem::path, std::string>> cases{
      {directory / "missing" / "out", "there is no directory"},
      {directory / "file" / "out", "there is no directory"},
      {directory / "folder", "is a directory"},
      {directory / "folder/", "is a directory"},
      {directory / "pipe", "exists and is no regular file"},
      {"/dev/null", "exists and is no regular file"},
  };
  for (const auto& [path, reason] : cases) {
    const auto error = error_of([&path = path] { OutputFile(path, {}); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr(reason)) << path;
    EXPECT_FALSE(error->path().empty());
  }
}

TEST(OutputFile, RefusesADirectoryThatMayNotBeWritten) {
  const TempDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms{0555});
  {
    const test::Unprivileged rights;
    if (!rights.dropped()) GTEST_SKIP() << "root cannot drop its rights here, and root writes everywhere";
    const auto error = error_of([&] { OutputFile(directory / "out", {}); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("cannot create files in"));
    EXPECT_THAT(error->message(), HasSubstr("Permission denied"));
  }
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
}

TEST(OutputFile, TwoOfOneTargetWouldReplaceEachOther) {
  const TempDirectory directory;
  std::filesystem::create_directory_symlink(directory.path(), directory / "link");
  {
    const OutputFile first(directory / "out", {});
    EXPECT_EQ(error_of([&] { OutputFile(directory / "out", {}); })->message(),
              "another stage writes this file already");
    EXPECT_THROW(OutputFile(directory / "link" / "out", {}), Error);
  }
  EXPECT_NO_THROW(OutputFile(directory / "out", {}));
}

TEST(OutputFile, FollowsALinkToTheRealPlace) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "disk");
  directory.write("disk/real", "old");
  std::filesystem::create_symlink("disk/real", directory / "out");
  OutputFile output(directory / "out", {});
  output.append("new");
  output.publish();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "out"));
  EXPECT_EQ(contents_of(directory / "disk" / "real"), "new");
}

TEST(OutputFile, LongAndUnusualNames) {
  const TempDirectory directory;
  for (const std::string& name : {std::string(255, 'n'), std::string("with space ä 名.bin"), std::string("-rf")}) {
    OutputFile output(directory / name, {});
    output.append("x");
    output.publish();
    EXPECT_EQ(contents_of(directory / name), "x");
  }
}

TEST(OutputFile, AFailedWriteIsForGoodAndLeavesNothing) {
  const TempDirectory directory;
  for (const std::uint64_t place : {0, 150'000, 299'999}) {
    OutputFile output(directory / "out", failing({Fault::Kind::enospc, place, {}}));
    const auto error = error_of([&] {
      for (int i = 0; i < 3; ++i) output.append(std::string(100'000, 'x'));
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->offset(), place);
    EXPECT_EQ(error->path(), std::filesystem::canonical(directory.path()) / "out");
    EXPECT_THAT(error->message(), HasSubstr("No space left"));
    EXPECT_THROW(output.append(std::string(100'000, 'x')), Error);
    EXPECT_THROW(output.publish(), Error);
    output.discard();
    EXPECT_THAT(directory.names(), IsEmpty());
  }
}

TEST(OutputFile, AFailedSyncIsForGood) {
  const TempDirectory directory;
  OutputFile output(directory / "out", failing({Fault::Kind::fsync, 0, {}}));
  output.append("x");
  EXPECT_THAT(error_of([&] { output.publish(); })->message(), HasSubstr("cannot sync"));
  EXPECT_THROW(output.publish(), Error);
  EXPECT_THROW(output.keep_as_partial(), Error);
  output.discard();
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(OutputFile, AFullDiskLeavesNothing) {
  const test::SmallDisk disk(512 << 10);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  OutputFile output(disk.directory() / "out", {});
  const auto error = error_of([&] {
    for (int i = 0; i < 100; ++i) output.append(std::string(10'000, 'x'));
    output.publish();
  });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("No space left"));
  output.discard();
  EXPECT_THAT(disk.directory().names(), IsEmpty());
}

TEST(OutputFile, AnErrorWhenTheDirectoryIsGoneAtTheEnd) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "folder");
  OutputFile output(directory / "folder" / "out", {});
  output.append(std::string(100'000, 'x'));
  std::filesystem::remove_all(directory / "folder");
  EXPECT_THAT(error_of([&] { output.publish(); })->message(), HasSubstr("cannot give the finished file its name"));
}

/// The mode of files that this process makes.
mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

TEST(OutputFile, HasTheModeOfOrdinaryFilesAndOneName) {
  const TempDirectory directory;
  for (int round = 0; round < 2; ++round) {  // a new file, and one that replaces it
    OutputFile output(directory / "out", {});
    output.append("x");
    output.publish();
    struct stat status {};
    ASSERT_EQ(::stat((directory / "out").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, usual_mode());
    EXPECT_EQ(status.st_nlink, 1U);
  }
}

TEST(OutputFile, NothingIsLeftWhenTheProcessIsKilled) {
  const TempDirectory directory;
  if (UnpublishedFile(directory / "probe").road() == UnpublishedFile::Road::named) {
    GTEST_SKIP() << "the file system has no files without a name";
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    OutputFile output(directory / "out", {});
    output.append(std::string(1 << 20, 'x'));
    [[maybe_unused]] const auto told = ::write(ends[1], "w", 1);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  char written = 0;
  EXPECT_EQ(::read(ends[0], &written, 1), 1);
  ::close(ends[0]);
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(RemoveLiveTemporaries, LeavesWhatIsPublished) {
  const TempDirectory directory;
  for (int i = 0; i < 20; ++i) {
    OutputFile output(directory / "out", {});
    output.append(std::string(100'000, 'x'));
    output.publish();
  }
  remove_live_temporaries();
  EXPECT_THAT(directory.names(), ElementsAre("out"));
}

}  // namespace
}  // namespace millrace::io
