#include "io/isolated_call.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
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
        {.cpu_seconds = 2});
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

Bytes bytes_of(std::size_t number) { return {static_cast<std::byte>(number), static_cast<std::byte>(number >> 8)}; }

TEST(IsolatedCallEach, AnswersEveryCallInItsPlace) {
  for (const std::size_t children : {1, 2, 3, 100}) {
    for (const std::size_t count : {0, 1, 2, 50}) {
      const std::vector<IsolationLimits> limits(count);
      const auto answers = call_isolated_each(bytes_of, limits, children);
      ASSERT_EQ(answers.size(), count);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_FALSE(answers[i].error);
        EXPECT_EQ(answers[i].bytes, bytes_of(i));
      }
    }
  }
}

TEST(IsolatedCallEach, SharesAFewProcesses) {
  const std::vector<IsolationLimits> limits(40);
  const auto answers = call_isolated_each(
      [](std::size_t) {
        const auto id = static_cast<std::uint32_t>(getpid());
        const auto* const first = reinterpret_cast<const std::byte*>(&id);
        return Bytes(first, first + sizeof id);
      },
      limits, 2);
  std::set<Bytes> processes;
  for (const auto& answer : answers) processes.insert(answer.bytes);
  EXPECT_EQ(processes.size(), 2U);
}

TEST(IsolatedCallEach, GoesOnBehindACallThatDies) {
  const auto before = test::open_descriptors();
  const std::vector<IsolationLimits> limits(20);
  const auto answers = call_isolated_each(
      [](std::size_t number) {
        if (number % 5 == 0) raise(SIGSEGV);
        if (number % 5 == 1) throw Error("is damaged");
        return bytes_of(number);
      },
      limits, 3);
  ASSERT_EQ(answers.size(), 20U);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].error.has_value(), i % 5 < 2) << i;
    if (i % 5 > 1) {
      EXPECT_EQ(answers[i].bytes, bytes_of(i));
    } else {
      const std::string expected = i % 5 == 0 ? "brought down" : "is damaged";
      EXPECT_NE(answers[i].error->message().find(expected), std::string::npos) << i;
    }
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(IsolatedCallEach, BoundsTheTimeOfEachCallAndNotOfAll) {
  const std::vector<IsolationLimits> limits(4, IsolationLimits{.cpu_seconds = 2});
  const auto answers = call_isolated_each(
      [](std::size_t number) {
        rusage start{};
        getrusage(RUSAGE_SELF, &start);
        const auto used = [&start] {
          rusage now{};
          getrusage(RUSAGE_SELF, &now);
          return (now.ru_utime.tv_sec - start.ru_utime.tv_sec) * 1'000'000 + now.ru_utime.tv_usec -
                 start.ru_utime.tv_usec;
        };
        while (number == 1 || used() < 900'000) {
        }
        return bytes_of(number);
      },
      limits, 1);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].error.has_value(), i == 1) << i << ' ' << (answers[i].error ? answers[i].error->what() : "");
  }
}

}  // namespace
}  // namespace millrace::io
