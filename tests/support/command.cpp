#include "tests/support/command.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace millrace::test {
namespace {

using std::chrono::steady_clock;

int milliseconds_to(steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 3'600'000));
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

/// In the child: everything up to the program's first instruction. Does not return.
[[noreturn]] void become(std::vector<std::string> arguments, const Command::Settings& settings, int out, int err) {
  constexpr int kCannotStart = 127;
  constexpr uid_t kNobody = 65534;
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (settings.output == "closed") {
    ::close(STDOUT_FILENO);
  } else if (::dup2(settings.output.empty() || settings.output == "broken" ? out
                                                                           : ::open(settings.output.c_str(), O_WRONLY),
                    STDOUT_FILENO) < 0) {
    ::_exit(kCannotStart);
  }
  if (!settings.directory.empty() && ::chdir(settings.directory.c_str()) != 0) ::_exit(kCannotStart);
  for (const auto& [name, value] : settings.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::string program = settings.program.string();
  // Opened with the rights of now: an unprivileged user may not be allowed to look into the folder of the build.
  const int executable = ::open(program.c_str(), O_PATH | O_CLOEXEC);
  if (settings.unprivileged && ::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
    ::_exit(kCannotStart);
  }
  std::vector<char*> argv;
  argv.push_back(program.data());
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execveat(executable, "", argv.data(), environ, AT_EMPTY_PATH);
  ::_exit(kCannotStart);
}

}  // namespace

std::vector<std::string> CommandResult::err_lines() const {
  std::vector<std::string> lines;
  std::istringstream stream(err);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Command::Command(const std::vector<std::string>& arguments, Settings settings)
    : settings_(std::move(settings)), started_(steady_clock::now()) {
  const Pipe out = make_pipe();
  const Pipe err = make_pipe();
  if (settings_.output == "broken") ::close(out.read_end);
  process_ = ::fork();
  if (process_ == 0) become(arguments, settings_, out.write_end, err.write_end);
  ::close(out.write_end);
  ::close(err.write_end);
  if (process_ < 0) throw std::runtime_error("cannot fork");
  out_ = settings_.output == "broken" ? -1 : out.read_end;
  err_ = err.read_end;
}

Command::~Command() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Command::send(int signal) const {
  if (process_ > 0) ::kill(process_, signal);
}

steady_clock::time_point Command::deadline() const { return started_ + settings_.limit; }

/// False when both pipes have ended or the time is over.
bool Command::read_some(steady_clock::time_point deadline) {
  std::array<pollfd, 2> wanted{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
  if ((out_ < 0 && err_ < 0) || ::poll(wanted.data(), wanted.size(), milliseconds_to(deadline)) <= 0) return false;
  const auto take = [](int& descriptor, const pollfd& state, std::string& text) {
    if (descriptor < 0 || state.revents == 0) return;
    std::array<char, 4096> block{};
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got > 0) {
      text.append(block.data(), static_cast<std::size_t>(got));
    } else {
      ::close(descriptor);
      descriptor = -1;
    }
  };
  take(out_, wanted[0], result_.out);
  take(err_, wanted[1], result_.err);
  return true;
}

bool Command::wait_for_error_text(const std::string& text) {
  while (result_.err.find(text) == std::string::npos) {
    if (!read_some(deadline())) return false;
  }
  return true;
}

CommandResult Command::wait() {
  while (read_some(deadline())) {
  }
  result_.timed_out = out_ >= 0 || err_ >= 0;
  if (result_.timed_out) ::kill(process_, SIGKILL);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  return result_;
}

DirectoryWatch::DirectoryWatch(const std::filesystem::path& directory) : descriptor_(::inotify_init1(IN_CLOEXEC)) {
  if (descriptor_ < 0 || ::inotify_add_watch(descriptor_, directory.c_str(), IN_MODIFY) < 0) {
    throw std::runtime_error("cannot watch " + directory.string());
  }
}

DirectoryWatch::~DirectoryWatch() { ::close(descriptor_); }

bool DirectoryWatch::wait_for_write(std::chrono::seconds limit) const {
  pollfd wanted{descriptor_, POLLIN, 0};
  return ::poll(&wanted, 1, milliseconds_to(steady_clock::now() + limit)) == 1;
}

}  // namespace millrace::test
