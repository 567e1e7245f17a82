#include "apps/child_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "pipeline/core/error.h"
#include "pipeline/report_json.h"

namespace millrace::apps {
namespace {

/// A stop discards what is in flight, which takes a second at most; see pipeline/DESIGN.md, "Stopping".
constexpr int kStopLimitMs = 5000;
/// Of what a child says on standard error, this much is kept: its end.
constexpr std::size_t kKeptErrorBytes = 64UL * 1024;

std::vector<std::string> words_of(const ChildRunArguments& arguments, const std::filesystem::path& report) {
  std::vector<std::string> words{"millrace", "run", arguments.config.string()};
  for (const auto& change : arguments.overrides) words.insert(words.end(), {"--set", change});
  for (const auto& plugin : arguments.plugins) words.insert(words.end(), {"--plugin", plugin.string()});
  if (arguments.evict) words.emplace_back("--evict");
  words.insert(words.end(), {"--report", report.string(), "--progress", "off"});
  return words;
}

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char** words, int error_descriptor, pid_t parent) {
  // A parent that died before this is not waited for; one that dies later takes this process with it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(nothing, STDOUT_FILENO) < 0 ||
      ::dup2(error_descriptor, STDERR_FILENO) < 0) {
    ::_exit(1);
  }
  ::execv("/proc/self/exe", words);
  ::_exit(1);
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw system_error("cannot make a temporary directory", errno).at_path(name);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ChildRun::ChildRun(const ChildRunArguments& arguments, const std::filesystem::path& scratch)
    : report_(scratch / "run.json") {
  std::error_code ignored;
  std::filesystem::remove(report_, ignored);
  start(words_of(arguments, report_));
}

void ChildRun::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  errors_ = io::FileDescriptor(ends[0]);
  const io::FileDescriptor written(ends[1]);
  ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw system_error("cannot start a run in a process of its own", errno);
  if (process_ == 0) become(pointers.data(), written.get(), parent);
  ended_ = io::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  if (ended_.valid()) return;
  const int failure = errno;
  kill_and_collect();
  throw system_error("cannot wait for a process by descriptor (Linux 5.3 can)", failure);
}

ChildRun::~ChildRun() { kill_and_collect(); }

void ChildRun::kill_and_collect() noexcept {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
}

void ChildRun::read_errors() {
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t got = ::read(errors_.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errors_.close();
    if (got <= 0) return;
    error_text_.append(block.data(), static_cast<std::size_t>(got));
    if (error_text_.size() > 2 * kKeptErrorBytes) error_text_.erase(0, error_text_.size() - kKeptErrorBytes);
  }
}

void ChildRun::stop() {
  // The first signal would drain. Two of one kind may arrive as one, two kinds cannot.
  ::kill(process_, SIGTERM);
  ::kill(process_, SIGINT);
}

ChildRunResult ChildRun::wait(Interruption& interruption) {
  bool stopping = false;
  for (;;) {
    // A descriptor below 0 is passed over by poll.
    std::array<pollfd, 3> watched{{{ended_.get(), POLLIN, 0},
                                   {errors_.valid() ? errors_.get() : -1, POLLIN, 0},
                                   {stopping ? -1 : interruption.descriptor(), POLLIN, 0}}};
    const int ready = ::poll(watched.data(), watched.size(), stopping ? kStopLimitMs : -1);
    if (ready < 0 && errno != EINTR) throw system_error("cannot wait for a run", errno);
    if (ready == 0) ::kill(process_, SIGKILL);
    if (errors_.valid()) read_errors();
    if (watched[0].revents != 0) break;
    if (!stopping && interruption.requested()) {
      stopping = true;
      stop();
    }
  }
  ChildRunResult result = collect();
  result.interrupted = stopping;
  return result;
}

ChildRunResult ChildRun::collect() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
  if (errors_.valid()) read_errors();
  ChildRunResult result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) {
    result.error =
        fmt::format("the run was ended by signal {} ({})", WTERMSIG(status), ::sigdescr_np(WTERMSIG(status)));
  } else if (result.exit_code != 0) {
    result.error = last_error_in(error_text_);
    if (result.error.empty()) result.error = fmt::format("the run ended with exit code {}", result.exit_code);
  }
  std::ifstream file(report_, std::ios::binary);
  if (!file) return result;
  std::ostringstream text;
  text << file.rdbuf();
  result.report = report_from_json(text.str());
  return result;
}

std::string last_error_in(const std::string& text) {
  constexpr std::string_view kPrefix = "millrace: error: ";
  std::string last;
  std::string error;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    last = line;
    if (line.starts_with(kPrefix)) error = line.substr(kPrefix.size());
  }
  return error.empty() ? last : error;
}

}  // namespace millrace::apps
