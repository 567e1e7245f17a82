#include "io/isolated_call.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using Bytes = std::vector<std::byte>;

TEST(IsolatedCall, GivesWhatTheCallReturned) {
  Bytes large(3'000'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i * i);
  EXPECT_EQ(call_isolated([&] { return large; }), large);
  EXPECT_EQ(call_isolated([] { return Bytes(); }), Bytes());
}

TEST(IsolatedCall, RunsInAnotherProcess) {
  const pid_t here = getpid();
  const Bytes answer = call_isolated([here] { return Bytes{static_cast<std::byte>(getpid() != here)}; });
  EXPECT_EQ(answer, Bytes{std::byte{1}});
}

TEST(IsolatedCall, ThrowsTheErrorOfTheCallWithAllItsFields) {
  const auto error = test::error_of([] {
    call_isolated([]() -> Bytes { throw Error("is damaged", ErrorKind::config).at_path("/some/file").at_offset(77); });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "is damaged");
  EXPECT_EQ(error->kind(), ErrorKind::config);
  EXPECT_EQ(error->path(), "/some/file");
  EXPECT_EQ(error->offset(), 77U);
}

TEST(IsolatedCall, TurnsOtherExceptionsIntoErrors) {
  const auto error =
      test::error_of([] { call_isolated([]() -> Bytes { throw std::runtime_error("something else"); }); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "something else");
}

TEST(IsolatedCall, SurvivesTheDeathOfTheCall) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGKILL}) {
    EXPECT_THROW(call_isolated([signal]() -> Bytes {
                   kill(getpid(), signal);
                   pause();
                   return {};
                 }),
                 Error)
        << signal;
  }
  EXPECT_THROW(call_isolated([]() -> Bytes { _exit(3); }), Error);
}

TEST(IsolatedCall, EndsACallThatNeverReturns) {
  const auto error = test::error_of([] {
    call_isolated(
        []() -> Bytes {
          for (std::atomic<unsigned> turns{0};;) ++turns;
        },
        {.cpu_seconds = 1});
  });
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("too long"), std::string::npos) << error->what();
}

TEST(IsolatedCall, KeepsWhatADyingLibraryPrintsToItself) {
  testing::internal::CaptureStderr();
  EXPECT_THROW(call_isolated([]() -> Bytes {
                 fputs("double free or corruption\n", stderr);
                 abort();
               }),
               Error);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(IsolatedCall, LeavesNoDescriptorBehind) {
  const auto before = test::open_descriptors();
  EXPECT_THROW(call_isolated([]() -> Bytes { throw Error("no"); }), Error);
  EXPECT_THROW(call_isolated([]() -> Bytes { _exit(3); }), Error);
  call_isolated([] { return Bytes(10); });
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace millrace::io
