// That tests/support/slowfs does what its README says: the other tests of this directory lean on it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "io/file_descriptor.h"
#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/slow_mount.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using io::FileDescriptor;
using slowfs::Kind;
using test::CommandResult;
using test::contents_of;
using test::SlowMount;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

/// What a system call came to: its count, or minus its errno.
long result_of(long result) { return result < 0 ? -errno : result; }

class Slowfs : public testing::Test {
 protected:
  void SetUp() override {
    if (!mount_.mounted()) GTEST_SKIP() << mount_.reason();
  }

  FileDescriptor open(const std::string& name, int flags) const {
    return FileDescriptor(::open((mount_.directory() / name).c_str(), flags | O_CLOEXEC, 0600));
  }
  long read_at(const FileDescriptor& file, std::uint64_t offset, std::size_t bytes) {
    buffer_.resize(bytes);
    return result_of(::pread(file.get(), buffer_.data(), bytes, static_cast<off_t>(offset)));
  }

  SlowMount mount_;
  std::string buffer_;
};

TEST_F(Slowfs, ShowsTheDirectoryAndPassesChangesOn) {
  mount_.source().write("a", "0123456789");
  const auto& shown = mount_.directory();
  EXPECT_EQ(contents_of(shown / "a"), "0123456789");
  std::filesystem::create_directory(shown / "d");
  std::ofstream(shown / "d/b") << "text";
  std::filesystem::rename(shown / "d/b", shown / "c");
  std::filesystem::resize_file(shown / "c", 2);
  std::filesystem::remove(shown / "a");
  EXPECT_THAT(mount_.source().names(), ElementsAre("c", "d"));
  EXPECT_EQ(contents_of(mount_.source() / "c"), "te");
}

TEST_F(Slowfs, WritesDownWhatTheKernelAsksFor) {
  mount_.source().write("a", std::string(1 << 20, 'x'));
  const FileDescriptor file = open("a", O_RDWR | O_DIRECT);
  EXPECT_EQ(read_at(file, 4096, 8192), 8192);
  EXPECT_EQ(result_of(::pwrite(file.get(), buffer_.data(), 4096, 12'288)), 4096);
  EXPECT_EQ(result_of(::fdatasync(file.get())), 0);
  const auto request = [](Kind kind, std::uint64_t offset, std::uint64_t bytes) {
    return AllOf(Field(&SlowMount::Request::kind, kind), Field(&SlowMount::Request::offset, offset),
                 Field(&SlowMount::Request::bytes, bytes));
  };
  EXPECT_THAT(mount_.requests(), ElementsAre(request(Kind::read, 4096, 8192), request(Kind::write, 12'288, 4096),
                                             request(Kind::fsync, 0, 0)));
  EXPECT_EQ(mount_.control().reads.bytes, 8192U);
  EXPECT_EQ(mount_.control().in_flight, 0U);
  EXPECT_EQ(mount_.control().most_in_flight, 1U);
  forget_requests(mount_.control());
  EXPECT_THAT(mount_.requests(), ElementsAre());
}

TEST_F(Slowfs, NoRequestTakesLessThanTheLatencyAndTheRateDemand) {
  // Lower bounds only, so nothing depends on how fast this machine is.
  mount_.source().write("a", std::string(100'000, 'x'));
  const FileDescriptor file = open("a", O_RDONLY | O_DIRECT);
  const auto duration = [&] {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(read_at(file, 0, 100'000), 100'000);
    return std::chrono::steady_clock::now() - begin;
  };
  mount_.control().latency_us = 20'000;
  EXPECT_GE(duration(), std::chrono::milliseconds(20));
  mount_.control().latency_us = 0;
  mount_.control().bytes_per_second = 2'000'000;
  EXPECT_GE(duration(), std::chrono::milliseconds(50));
}

TEST_F(Slowfs, ReadsOfABadRangeFailAndOthersDoNot) {
  mount_.source().write("a", std::string(64 << 10, 'x'));
  const FileDescriptor file = open("a", O_RDONLY | O_DIRECT);
  mount_.control().read_error_begin = 8192;
  mount_.control().read_error_end = 8193;
  EXPECT_EQ(read_at(file, 4096, 4096), 4096);
  EXPECT_EQ(read_at(file, 4096, 8192), -EIO);
  EXPECT_EQ(read_at(file, 8192, 4096), -EIO);
  EXPECT_EQ(read_at(file, 12'288, 4096), 4096);
}

TEST_F(Slowfs, NothingCanBeWrittenBeyondItsSpace) {
  const FileDescriptor file = open("a", O_RDWR | O_CREAT | O_DIRECT);
  mount_.control().space_bytes = 5000;
  const std::string block(4096, 'x');
  EXPECT_EQ(result_of(::pwrite(file.get(), block.data(), block.size(), 904)), 4096);
  EXPECT_EQ(result_of(::pwrite(file.get(), block.data(), block.size(), 905)), -ENOSPC);
  EXPECT_EQ(result_of(::fallocate(file.get(), 0, 0, 5001)), -ENOSPC);
  EXPECT_EQ(std::filesystem::file_size(mount_.source() / "a"), 5000U);
}

TEST_F(Slowfs, SoManyWritesAndSyncsFail) {
  const FileDescriptor file = open("a", O_RDWR | O_CREAT);
  mount_.control().write_errors = 1;
  mount_.control().fsync_errors = 1;
  EXPECT_EQ(result_of(::pwrite(file.get(), "x", 1, 0)), -EIO);
  EXPECT_EQ(result_of(::pwrite(file.get(), "x", 1, 0)), 1);
  EXPECT_EQ(result_of(::fsync(file.get())), -EIO);
  EXPECT_EQ(result_of(::fsync(file.get())), 0);
}

TEST_F(Slowfs, AShortReadLooksLikeTheEndOfTheFile) {
  mount_.source().write("a", std::string(300'000, 'x'));
  mount_.control().short_read_bytes = 1000;
  for (const int flags : {O_RDONLY, O_RDONLY | O_DIRECT}) {
    const FileDescriptor file = open("a", flags);
    EXPECT_EQ(read_at(file, 0, 131'072), 130'072);
    EXPECT_EQ(buffer_.substr(0, 130'072), std::string(130'072, 'x'));
  }
}

TEST_F(Slowfs, RequestsWaitWhileItIsStalled) {
  mount_.source().write("a", "0123456789");
  set_stall(mount_.control(), true);
  long got = 0;
  std::thread reader([&] {
    const FileDescriptor file = open("a", O_RDONLY);
    got = read_at(file, 0, 10);
  });
  EXPECT_TRUE(mount_.wait_for_stalled(1));
  EXPECT_EQ(mount_.control().in_flight, 1U);
  set_stall(mount_.control(), false);
  reader.join();
  EXPECT_EQ(got, 10);
  EXPECT_EQ(mount_.control().stalled, 0U);
}

TEST_F(Slowfs, EndsCleanlyOnATermSignalAlsoWhenItIsStalled) {
  mount_.source().write("a", "0123456789");
  set_stall(mount_.control(), true);
  std::thread reader([&] {
    const FileDescriptor file = open("a", O_RDONLY | O_DIRECT);
    read_at(file, 0, 10);  // gets its answer or an error, whichever is faster
  });
  EXPECT_TRUE(mount_.wait_for_stalled(1));
  const CommandResult result = mount_.end_server();
  reader.join();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(mount_.directory())) << "it is still mounted";
}

TEST(SlowfsWithWriteback, ErrorsOfWritesComeWithTheNextSyncAndOnlyOnce) {
  const SlowMount mount({"writeback=1"});
  if (!mount.mounted()) GTEST_SKIP() << mount.reason();
  const FileDescriptor file(::open((mount.directory() / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  mount.control().write_errors = 1;
  EXPECT_EQ(result_of(::pwrite(file.get(), "x", 1, 0)), 1);
  EXPECT_EQ(result_of(::fsync(file.get())), -EIO);
  EXPECT_EQ(result_of(::fsync(file.get())), 0) << "this is why a Writer that failed to sync has failed for good";
}

TEST(SlowfsWithWriteback, WhatAShortReadLacksTheKernelFillsWithZeros) {
  const SlowMount mount({"writeback=1"});
  if (!mount.mounted()) GTEST_SKIP() << mount.reason();
  mount.source().write("a", std::string(300'000, 'x'));
  mount.control().short_read_bytes = 1000;
  const FileDescriptor file(::open((mount.directory() / "a").c_str(), O_RDONLY | O_CLOEXEC));
  std::string read(131'072, '-');
  EXPECT_EQ(::pread(file.get(), read.data(), read.size(), 0), 131'072);
  EXPECT_EQ(read, std::string(130'072, 'x') + std::string(1000, '\0'));
}

TEST(SlowfsMount, RequestsOverlap) {
  const SlowMount mount({"max_background=40"});
  if (!mount.mounted()) GTEST_SKIP() << mount.reason();
  mount.source().write("a", "0123456789");
  set_stall(mount.control(), true);
  std::vector<std::thread> readers;
  readers.reserve(20);
  for (int i = 0; i < 20; ++i) {
    readers.emplace_back([&] {
      std::array<char, 10> bytes{};
      const FileDescriptor file(::open((mount.directory() / "a").c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
      EXPECT_EQ(::pread(file.get(), bytes.data(), bytes.size(), 0), 10);
    });
  }
  EXPECT_TRUE(mount.wait_for_stalled(20));
  set_stall(mount.control(), false);
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(mount.control().most_in_flight, 20U);
}

TEST(SlowfsMount, TheLargestReadAheadCanBeLowered) {
  const SlowMount mount({"max_readahead=24576"});
  if (!mount.mounted()) GTEST_SKIP() << mount.reason();
  mount.source().write("a", std::string(1 << 20, 'x'));
  const FileDescriptor file(::open((mount.directory() / "a").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> block{};
  for (off_t i = 0; i < 256; ++i) ASSERT_EQ(::pread(file.get(), block.data(), block.size(), i * 4096), 4096);
  EXPECT_EQ(mount.control().reads.largest_bytes, 24'576U) << mount.seen();
}

/// Runs the program itself; skips where it was not built.
class SlowfsProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kProgram)) GTEST_SKIP() << "slowfs was not built: libfuse3 is missing";
  }
  static CommandResult run(const std::vector<std::string>& arguments) {
    test::Command::Settings settings;
    settings.program = kProgram;
    return test::Command(arguments, settings).wait();
  }

  static inline const std::filesystem::path kProgram = test::build_dir() / "tests/slowfs";
  test::TempDirectory directory_;
};

TEST_F(SlowfsProgram, RefusesWhatItDoesNotKnow) {
  const auto control = (directory_ / "control").string();
  const auto ready = slowfs::ControlFile::make(control);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"mount", "/tmp"},
                                                    {"set", control, "speed=1"},
                                                    {"set", control, "latency_us"},
                                                    {"set", control, "latency_us=1ms"},
                                                    {"show", control, "more"},
                                                    {"fly", control}}) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("usage:"));
  }
  for (const auto& path : {directory_ / "missing", directory_.write("other", "text")}) {
    const CommandResult result = run({"show", path.string()});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(path.string()));
  }
}

TEST_F(SlowfsProgram, SetsShowsAndResets) {
  const auto control = (directory_ / "control").string();
  const auto ready = slowfs::ControlFile::make(control);
  ready->reads.requests = 7;
  EXPECT_EQ(run({"set", control, "latency_us=12", "stall=1"}).exit_code, 0);
  EXPECT_EQ(ready->latency_us, 12U);
  EXPECT_EQ(ready->stall, 1U);
  EXPECT_THAT(run({"show", control}).out, AllOf(HasSubstr("latency_us=12\n"), HasSubstr("space_bytes=endless\n"),
                                                HasSubstr("stall=1\n"), HasSubstr("reads: 7 requests")));
  EXPECT_EQ(run({"reset", control}).exit_code, 0);
  EXPECT_EQ(ready->reads.requests, 0U);
  EXPECT_EQ(ready->latency_us, 12U);
}

TEST_F(SlowfsProgram, CommandsOfItsReadmeRun) {
  const SlowMount works;
  if (!works.mounted()) GTEST_SKIP() << works.reason();
  const auto source = test::source_dir() / "tests/support/slowfs/README.md";
  const std::string readme = contents_of(source);
  const auto begin = readme.find("```sh\n") + 6;
  ASSERT_NE(begin, std::string::npos + 6);
  const std::string commands = readme.substr(begin, readme.find("```", begin) - begin);
  std::filesystem::create_directories(directory_ / "build/tests");
  std::filesystem::create_symlink(kProgram, directory_ / "build/tests/slowfs");
  test::Command::Settings settings;
  settings.program = "/bin/sh";
  settings.directory = directory_.path();
  const auto script = directory_.write("script.sh", commands);
  const CommandResult result = test::Command({"-eux", script.string()}, settings).wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "build/demo/slow")) << "it is still mounted";
}

}  // namespace
}  // namespace millrace
