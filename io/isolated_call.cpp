#include "io/isolated_call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "io/byte_stream.h"
#include "pipeline/core/error.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MILLRACE_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MILLRACE_SHADOW_MEMORY 1
#endif
#endif

namespace millrace::io {
namespace {

/// First byte of an answer.
enum class Answer : std::uint8_t { bytes, error };

/// Bytes of private writable memory of this process: the sixth field of statm, in pages.
std::uint64_t data_bytes_now() {
  std::ifstream statm("/proc/self/statm");
  std::array<std::uint64_t, 6> pages{};
  for (auto& field : pages) statm >> field;
  return pages[5] * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit(__rlimit_resource resource, std::uint64_t value) {
  rlimit current{};
  if (getrlimit(resource, &current) != 0) return;
  current.rlim_cur = std::min<rlim_t>(current.rlim_max, value);
  setrlimit(resource, &current);
}

/// Makes the child die alone and quietly.
void confine() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGTERM})
    static_cast<void>(std::signal(signal, SIG_DFL));
  static_cast<void>(std::signal(SIGINT, SIG_IGN));  // the parent decides what an interrupt means
  // A dying library may have its say (glibc's heap checks do), but not on the user's terminal.
  if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  limit(RLIMIT_CORE, 0);
}

/// Makes the child die in time, counted from now, and before it has all the memory.
void bound(const IsolationLimits& limits, std::uint64_t data_bytes) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto microseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
  };
  // A second that was begun counts as whole: a call may have a little more than it is promised, but not less.
  const std::uint64_t spent = (microseconds(used.ru_utime) + microseconds(used.ru_stime) + 999'999) / 1'000'000;
  limit(RLIMIT_CPU, limits.cpu_seconds + spent);
#if !defined(MILLRACE_SHADOW_MEMORY)
  limit(RLIMIT_DATA, data_bytes + limits.memory_bytes);
#else
  static_cast<void>(data_bytes);
#endif
}

void write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the parent has gone
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

std::vector<std::byte> packed(const Error& error) {
  ByteWriter message;
  message.put(static_cast<std::uint8_t>(Answer::error));
  message.put(static_cast<std::uint8_t>(error.kind()));
  message.put_text(error.message());
  message.put_text(error.path().native());
  message.put<std::uint8_t>(error.offset().has_value() ? 1 : 0);
  message.put<std::uint64_t>(error.offset().value_or(0));
  return message.take();
}

[[noreturn]] void throw_packed(ByteReader message) {
  const auto kind = static_cast<ErrorKind>(message.take<std::uint8_t>());
  Error error(message.take_text(), kind);
  if (const auto path = message.take_text(); !path.empty()) error.at_path(path);
  const bool has_offset = message.take<std::uint8_t>() != 0;
  const auto offset = message.take<std::uint64_t>();
  if (has_offset) error.at_offset(offset);
  throw error;
}

std::vector<std::byte> answer_of(const std::function<std::vector<std::byte>(std::size_t)>& work, std::size_t index) {
  try {
    ByteWriter message;
    message.put(static_cast<std::uint8_t>(Answer::bytes));
    message.put_bytes(work(index));
    return message.take();
  } catch (const Error& error) {
    return packed(error);
  } catch (const std::bad_alloc&) {
    return packed(Error("asks for more memory than it may have"));
  } catch (const std::exception& failure) {
    return packed(Error(failure.what()));
  }
}

std::string cause_of_death(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGKILL) return "it took too long";
  return strsignal(signal);
}

IsolatedAnswer answer_in(std::vector<std::byte> message) {
  IsolatedAnswer answer;
  if (static_cast<Answer>(message.front()) == Answer::error) {
    try {
      throw_packed(ByteReader(std::span(message).subspan(1)));
    } catch (const Error& error) {
      answer.error = error;
    }
  } else {
    message.erase(message.begin());
    answer.bytes = std::move(message);
  }
  return answer;
}

struct Calls {
  const std::function<std::vector<std::byte>(std::size_t)>& work;
  std::span<const IsolationLimits> limits;
  std::size_t step;  // from one call of a child to its next
};

/// A process at work on the calls `next`, `next + step` ...; killed when it is destroyed before its end.
class Child {
 public:
  Child(const Calls& calls, std::size_t next) : calls_(calls), next_(next) { start(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      end();
    }
  }

  bool done() const { return next_ >= calls_.limits.size(); }
  int descriptor() const { return pipe_; }

  /// Takes what the child has sent, and stores the answers that are whole.
  void receive(std::vector<IsolatedAnswer>& answers) {
    std::array<std::byte, 1 << 16> piece;
    const auto got = read(pipe_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return go_on_behind_it(answers);
    received_.insert(received_.end(), piece.begin(), piece.begin() + got);
    std::uint64_t bytes = 0;
    std::size_t at = 0;
    for (; received_.size() - at >= sizeof bytes; at += sizeof bytes + bytes) {
      std::memcpy(&bytes, received_.data() + at, sizeof bytes);
      // What a child sends after damage to its memory is not trusted.
      if (bytes == 0 || done()) return give_up(answers);
      if (received_.size() - at - sizeof bytes < bytes) break;
      const auto message = std::span(received_).subspan(at + sizeof bytes, bytes);
      answers[next_] = answer_in({message.begin(), message.end()});
      next_ += calls_.step;
    }
    received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(at));
    if (done()) end();
  }

 private:
  void start() {
    std::array<int, 2> pipe_ends{};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
    const std::uint64_t data_bytes = data_bytes_now();
    child_ = fork();
    if (child_ < 0) {
      const int reason = errno;
      close(pipe_ends[0]);
      close(pipe_ends[1]);
      throw system_error("cannot start a process", reason);
    }
    if (child_ == 0) run(data_bytes, pipe_ends[1]);
    close(pipe_ends[1]);
    pipe_ = pipe_ends[0];
  }

  [[noreturn]] void run(std::uint64_t data_bytes, int to_parent) {
    confine();
    for (std::size_t index = next_; index < calls_.limits.size(); index += calls_.step) {
      bound(calls_.limits[index], data_bytes);
      const auto answer = answer_of(calls_.work, index);
      ByteWriter message;
      message.put<std::uint64_t>(answer.size());
      message.put_bytes(answer);
      write_all(to_parent, message.take());
    }
    _exit(0);
  }

  /// Waits for the child's death; gives its status.
  int end() {
    close(pipe_);
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return status;
  }

  void give_up(std::vector<IsolatedAnswer>& answers) {
    kill(child_, SIGKILL);
    if (!done()) return go_on_behind_it(answers);
    end();
  }

  void go_on_behind_it(std::vector<IsolatedAnswer>& answers) {
    answers[next_].error = Error(fmt::format("brought down the process that worked on it ({})", cause_of_death(end())));
    next_ += calls_.step;
    received_.clear();
    if (!done()) start();
  }

  const Calls& calls_;
  std::size_t next_;
  pid_t child_ = -1;
  int pipe_ = -1;
  std::vector<std::byte> received_;
};

}  // namespace

std::vector<IsolatedAnswer> call_isolated_each(const std::function<std::vector<std::byte>(std::size_t)>& work,
                                               std::span<const IsolationLimits> limits, std::size_t children) {
  const Calls calls{work, limits, std::clamp<std::size_t>(children, 1, std::max<std::size_t>(limits.size(), 1))};
  std::vector<IsolatedAnswer> answers(limits.size());
  std::vector<std::unique_ptr<Child>> working;
  for (std::size_t first = 0; first < std::min(calls.step, limits.size()); ++first) {
    working.push_back(std::make_unique<Child>(calls, first));
  }
  while (!working.empty()) {
    std::vector<pollfd> waits;
    waits.reserve(working.size());
    for (const auto& child : working) waits.push_back({child->descriptor(), POLLIN, 0});
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      throw system_error("cannot wait for a child process", errno);
    }
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents != 0) working[i]->receive(answers);
    }
    std::erase_if(working, [](const auto& child) { return child->done(); });
  }
  return answers;
}

std::vector<std::byte> call_isolated(const std::function<std::vector<std::byte>()>& work,
                                     const IsolationLimits& limits) {
  auto answers = call_isolated_each([&work](std::size_t) { return work(); }, std::span(&limits, 1), 1);
  if (answers.front().error) throw *answers.front().error;
  return std::move(answers.front().bytes);
}

}  // namespace millrace::io
