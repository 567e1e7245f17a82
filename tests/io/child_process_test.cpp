#include "io/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using testing::HasSubstr;

const std::stop_token kNoStop;
constexpr Duration kNoLimit{0};

ChildCommand shell(const std::string& script) { return {find_program("sh", {}), {"sh", "-c", script}, {}, {}}; }

/// All that it writes until its end.
std::string output_of(ChildProcess& child) {
  std::string text;
  std::vector<std::byte> room(1000);
  for (;;) {
    const auto moved = child.exchange(room, kNoLimit, kNoStop);
    text.append(reinterpret_cast<const char*>(room.data()), moved.read);
    if (moved.event != ChildProcess::Event::moved) return text;
  }
}

TEST(ChildProcess, TellsHowItEnded) {
  struct Case {
    const char* script;
    int exit_code;
    const char* text;
  };
  for (const Case& one : {Case{"exit 0", 0, "ended with exit code 0"}, Case{"exit 7", 7, "ended with exit code 7"},
                          Case{"kill -9 $$", -1, "was ended by signal 9 (Killed)"}}) {
    LineRelay relay("x");
    ChildProcess child(shell(one.script), relay);
    const auto end = child.wait(kNoLimit, kNoStop);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->exit_code, one.exit_code);
    EXPECT_EQ(end->text(), one.text);
    EXPECT_GT(end->cpu_ns, 0);
    EXPECT_EQ(child.cpu_ns(), end->cpu_ns);
    EXPECT_EQ(child.kill().exit_code, one.exit_code);  // it is collected once
  }
}

TEST(ChildProcess, MovesBytesBothWaysAtOnce) {
  LineRelay relay("x");
  ChildProcess child({find_program("cat", {}), {"cat"}, {}, {}}, relay);
  std::vector<std::byte> bytes(5'000'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 7U);
  child.queue(std::span(bytes).first(1'000'001));
  child.queue({});
  child.queue(std::span(bytes).subspan(1'000'001));
  std::vector<std::byte> back(bytes.size());
  for (std::size_t got = 0; got < back.size();) {
    const auto moved = child.exchange(std::span(back).subspan(got), kNoLimit, kNoStop);
    ASSERT_EQ(moved.event, ChildProcess::Event::moved);
    got += moved.read;
  }
  EXPECT_TRUE(child.all_sent());
  EXPECT_EQ(back, bytes);
  child.close_input();
  EXPECT_EQ(output_of(child), "");
  EXPECT_EQ(child.wait(kNoLimit, kNoStop)->exit_code, 0);
}

TEST(ChildProcess, WritingToOneThatIsGoneIsNoSignal) {
  LineRelay relay("x");
  ChildProcess child(shell("exit 3"), relay);
  const std::vector<std::byte> bytes(8'000'000);
  child.queue(bytes);
  output_of(child);
  EXPECT_FALSE(child.all_sent());
  EXPECT_EQ(child.wait(kNoLimit, kNoStop)->exit_code, 3);
}

TEST(ChildProcess, RunsWhereAndWithWhatItIsTold) {
  const test::TempDirectory directory;
  LineRelay relay("x");
  ChildCommand command = shell("pwd; echo $MILLRACE_CHILD; echo ${HOME-none}");
  command.directory = directory.path();
  command.environment = {"MILLRACE_CHILD=a b", "HOME=elsewhere"};
  ChildProcess child(command, relay);
  EXPECT_EQ(output_of(child), std::filesystem::canonical(directory.path()).string() + "\na b\nelsewhere\n");
}

TEST(ChildProcess, KeepsWhatItSaysOnStandardError) {
  LineRelay relay("x");
  ChildProcess child(shell("echo one >&2; printf two >&2"), relay);
  testing::internal::CaptureStderr();
  child.wait(kNoLimit, kNoStop);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "x: one\nx: two\n");
  EXPECT_EQ(relay.last_lines(), "one | two");
}

TEST(ChildProcess, WaitsNoLongerThanItMay) {
  LineRelay relay("x");
  ChildProcess child({find_program("cat", {}), {"cat"}, {}, {}}, relay);
  std::vector<std::byte> room(8);
  EXPECT_EQ(child.exchange(room, std::chrono::milliseconds(1), kNoStop).event, ChildProcess::Event::silent);
  EXPECT_FALSE(child.wait(std::chrono::milliseconds(1), kNoStop));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(child.exchange(room, kNoLimit, stop.get_token()).event, ChildProcess::Event::stopped);
  EXPECT_FALSE(child.wait(kNoLimit, stop.get_token()));
  EXPECT_EQ(child.kill().signal, SIGKILL);
}

TEST(ChildProcess, WhatCannotBeExecutedIsAnErrorWithTheReason) {
  LineRelay relay("x");
  const test::TempDirectory directory;
  ChildCommand command{directory / "none", {"none"}, {}, {}};
  EXPECT_THAT(error_of([&] { ChildProcess child(command, relay); })->what(),
              HasSubstr("cannot execute it: No such file"));
  command = shell("exit 0");
  command.directory = directory / "none";
  EXPECT_THAT(error_of([&] { ChildProcess child(command, relay); })->what(), HasSubstr("cannot enter its directory"));
}

TEST(FindProgram, LooksInPathOrAtAPlace) {
  const test::TempDirectory directory;
  const auto tool = directory.write("tool", "#!/bin/sh\n");
  EXPECT_THAT(error_of([&] { find_program("./tool", directory.path()); })->message(), HasSubstr("executed"));
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("./tool", directory.path()), std::filesystem::absolute(directory.path() / "./tool"));
  EXPECT_TRUE(find_program("sh", {}).is_absolute());
  EXPECT_THAT(error_of([] { find_program("no-such-tool", {}); })->message(), HasSubstr("in PATH"));
}

}  // namespace
}  // namespace millrace::io
