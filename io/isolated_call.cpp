#include "io/isolated_call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <span>
#include <string>

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

/// Makes the child die alone, quietly and in time.
void confine(const IsolationLimits& limits, std::uint64_t data_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGTERM}) std::signal(signal, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // the parent decides what an interrupt means
  // A dying library may have its say (glibc's heap checks do), but not on the user's terminal.
  if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
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

std::vector<std::byte> answer_of(const std::function<std::vector<std::byte>()>& work) {
  try {
    ByteWriter message;
    message.put(static_cast<std::uint8_t>(Answer::bytes));
    message.put_bytes(work());
    return message.take();
  } catch (const Error& error) {
    return packed(error);
  } catch (const std::bad_alloc&) {
    return packed(Error("asks for more memory than it may have"));
  } catch (const std::exception& failure) {
    return packed(Error(failure.what()));
  }
}

[[noreturn]] void run_child(const std::function<std::vector<std::byte>()>& work, const IsolationLimits& limits,
                            std::uint64_t data_bytes, int answer) {
  confine(limits, data_bytes);
  write_all(answer, answer_of(work));
  _exit(0);
}

std::vector<std::byte> read_to_end(int descriptor) {
  std::vector<std::byte> all;
  std::array<std::byte, 1 << 16> piece;
  for (;;) {
    const auto got = read(descriptor, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return all;
    all.insert(all.end(), piece.begin(), piece.begin() + got);
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw system_error("cannot wait for a child process", errno);
  }
  return status;
}

std::string cause_of_death(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGKILL) return "it took too long";
  return strsignal(signal);
}

}  // namespace

std::vector<std::byte> call_isolated(const std::function<std::vector<std::byte>()>& work,
                                     const IsolationLimits& limits) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  const std::uint64_t data_bytes = data_bytes_now();
  const pid_t child = fork();
  if (child < 0) {
    const int reason = errno;
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    throw system_error("cannot start a process", reason);
  }
  if (child == 0) run_child(work, limits, data_bytes, pipe_ends[1]);

  close(pipe_ends[1]);
  std::vector<std::byte> answer;
  try {
    answer = read_to_end(pipe_ends[0]);
  } catch (...) {
    kill(child, SIGKILL);
    close(pipe_ends[0]);
    wait_for(child);
    throw;
  }
  close(pipe_ends[0]);
  const int status = wait_for(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || answer.empty()) {
    throw Error(fmt::format("brought down the process that worked on it ({})", cause_of_death(status)));
  }
  if (static_cast<Answer>(answer.front()) == Answer::error) throw_packed(ByteReader(std::span(answer).subspan(1)));
  answer.erase(answer.begin());
  return answer;
}

}  // namespace millrace::io
