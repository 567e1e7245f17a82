// What a sink leaves when its process is killed, at whichever system call: between two of them nothing outside the
// process changes, so these are all the moments there are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/registry.h"
#include "stages/builtin.h"
#include "tests/conformance/stage_cases.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::StageCase;
using test::TempDirectory;

constexpr int kNoTracing = 77;
constexpr int kFailed = 78;

/// The child's life, up to SIGKILL or its end.
enum class Fate { killed, completed, failed, cannot_trace };

Fate fate_of(int status) {
  if (WIFSIGNALED(status)) return Fate::killed;
  if (WEXITSTATUS(status) == kNoTracing) return Fate::cannot_trace;
  return WEXITSTATUS(status) == 0 ? Fate::completed : Fate::failed;
}

/// Runs `work` in a child process that is killed at the beginning or the end of a system call: the `stop`-th such
/// moment, from 0. `completed` when it has fewer.
Fate killed_at(std::uint64_t stop, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kNoTracing);
    ::raise(SIGSTOP);
    try {
      work();
    } catch (...) {
      ::_exit(kFailed);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return fate_of(status);
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  for (std::uint64_t seen = 0;; ++seen) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return fate_of(status);
    if (seen == stop) break;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return fate_of(status);
}

class KilledSink : public testing::TestWithParam<StageCase> {
 protected:
  static void write_in(const TempDirectory& directory) {
    Registry registry;
    add_builtin_stages(registry);
    const auto stage = registry.at(GetParam().type).make(GetParam().options(directory));
    auto& sink = dynamic_cast<Sink&>(*stage);
    auto feed = GetParam().feed();
    sink.prepare(feed->type);
    test::drive(sink, std::move(feed->chunks));
  }

  /// The one file that a complete run makes.
  void SetUp() override {
    if (!GetParam().feed()) GTEST_SKIP() << "this machine has not got what it takes";
    const TempDirectory directory;
    write_in(directory);
    ASSERT_EQ(directory.names().size(), 1U);
    name_ = directory.names().front();
    complete_ = test::contents_of(directory / name_);
  }

  /// Kills a run at every moment of it, each in a directory that holds `before` under the final name, if anything.
  /// Afterwards that name has what it had, or all of the new file; and a new run succeeds beside what is left.
  void kill_everywhere(const std::optional<std::string>& before) const {
    for (std::uint64_t stop = 0;; ++stop) {
      const TempDirectory directory;
      if (before) directory.write(name_, *before);
      const Fate fate = killed_at(stop, [&directory] { write_in(directory); });
      if (fate == Fate::cannot_trace) GTEST_SKIP() << "this process may not trace its children";
      ASSERT_NE(fate, Fate::failed) << "moment " << stop;
      check(directory, before, fate);
      if (testing::Test::HasFailure()) FAIL() << "killed at moment " << stop;
      if (fate == Fate::completed) {
        EXPECT_GT(stop, 10U) << "the run was not seen";
        return;
      }
      write_in(directory);
      EXPECT_TRUE(test::contents_of(directory / name_) == complete_) << "after a run killed at moment " << stop;
    }
  }

  void check(const TempDirectory& directory, const std::optional<std::string>& before, Fate fate) const {
    bool has_name = false;
    for (const auto& name : directory.names()) {
      if (name == name_) {
        has_name = true;
      } else {
        EXPECT_TRUE(name.starts_with(".") && name.ends_with(".tmp")) << name;
      }
    }
    EXPECT_TRUE(has_name || (!before && fate == Fate::killed));
    if (!has_name) return;
    const std::string contents = test::contents_of(directory / name_);
    EXPECT_TRUE(contents == complete_ || (fate == Fate::killed && before && contents == *before))
        << contents.size() << " of " << complete_.size() << " bytes";
  }

 private:
  std::string name_;
  std::string complete_;
};

TEST_P(KilledSink, LeavesNothingOrTheWholeFile) { kill_everywhere(std::nullopt); }

TEST_P(KilledSink, LeavesTheOlderFileOrTheWholeNewOne) { kill_everywhere("what was there before"); }

std::vector<StageCase> writers() {
  Registry registry;
  add_builtin_stages(registry);
  std::vector<StageCase> cases;
  for (auto& entry : test::stage_cases()) {
    if (registry.at(entry.type).role != Role::sink) continue;
    for (const auto& option : registry.describe(entry.type)) {
      if (option.key == "path") cases.push_back(entry);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Every, KilledSink, testing::ValuesIn(writers()),
                         [](const auto& instance) { return instance.param.type; });

}  // namespace
}  // namespace millrace
