#include "io/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill and sigset_t are POSIX
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

/// A pipe of the usual 64 KiB makes both sides switch to and fro sixteen times per MiB. As much as any user may ask
/// for.
constexpr int kPipeBytes = 1 << 20;
/// A process that closes its input is mostly one that ends: it gets this long to do so.
constexpr int kEndingMs = 1000;
constexpr std::size_t kLaunchStackBytes = 64UL << 10;

/// Everything that the new process needs before it is another program.
struct Launch {
  const char* program = nullptr;
  char* const* words = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;  ///< null = stay
  int input = -1;
  int output = -1;
  int errors = -1;
  pid_t parent = -1;
  const char* failed_at = nullptr;  ///< what failed, with error_number
  int error_number = 0;
};

/// Until exec it lives in the memory of its parent, which waits: it writes to the Launch alone, and makes system calls
/// only. Sanitizers would take its end for that of the thread that it borrows.
__attribute__((no_sanitize("address", "thread", "undefined"))) int become(void* argument) {
  Launch& launch = *static_cast<Launch*>(argument);
  const auto fail = [&launch](const char* what) {
    launch.failed_at = what;
    launch.error_number = errno;
    ::_exit(127);
  };
  // Straight to the kernel: the library and the sanitizers keep tables of handlers, which are the parent's.
  constexpr std::array<unsigned long, 8> kDefaultAction{};
  for (int number = 1; number < NSIG; ++number) ::syscall(SYS_rt_sigaction, number, kDefaultAction.data(), nullptr, 8);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) fail("the process that starts it is gone");
  if (::setpgid(0, 0) != 0) fail("cannot give it a process group");
  if (::dup2(launch.input, STDIN_FILENO) < 0 || ::dup2(launch.output, STDOUT_FILENO) < 0 ||
      ::dup2(launch.errors, STDERR_FILENO) < 0) {
    fail("cannot connect its pipes");
  }
  // Not all libraries open their files so that they close on exec. Linux before 5.9 does not know the call.
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  if (launch.directory != nullptr && ::chdir(launch.directory) != 0) fail("cannot enter its directory");
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(launch.program, launch.words, launch.environment);
  fail("cannot execute it");
  return 0;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// `additions`, then what this process has under other names.
std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> all = additions;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view inherited(*entry);
    const std::string_view name = inherited.substr(0, inherited.find('=') + 1);
    const bool replaced =
        !name.empty() && std::any_of(additions.begin(), additions.end(),
                                     [name](const std::string& one) { return one.starts_with(name); });
    if (!replaced) all.emplace_back(inherited);
  }
  return all;
}

struct PipeEnds {
  FileDescriptor read;
  FileDescriptor write;
};

/// Above the three standard descriptors, which the new process overwrites one after the other.
FileDescriptor above_standard(FileDescriptor descriptor) {
  if (descriptor.get() > STDERR_FILENO) return descriptor;
  FileDescriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved.valid()) throw system_error("cannot make a pipe", errno);
  return moved;
}

PipeEnds make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  FileDescriptor read(ends[0]);
  FileDescriptor write(ends[1]);
  ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // refused where a user has used up his share: then it stays as it is
  return {above_standard(std::move(read)), above_standard(std::move(write))};
}

void never_block(const FileDescriptor& descriptor) { ::fcntl(descriptor.get(), F_SETFL, O_NONBLOCK); }

/// While it lives, a write to a pipe that nobody reads gives EPIPE and no signal to this thread.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// After EPIPE: takes the signal that waits for this thread, if it is ours.
  void take() const {
    if (::sigismember(&before_, SIGPIPE) != 0) return;
    const timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) continue;
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

std::int64_t nanoseconds(const timeval& time) { return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1000LL; }

int poll_timeout_ms(std::int64_t left_ns) {
  return static_cast<int>(std::clamp<std::int64_t>((left_ns + 999'999) / 1'000'000, 0, INT_MAX));
}

}  // namespace

std::filesystem::path find_program(const std::string& name, const std::filesystem::path& directory) {
  const auto may_run = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  std::error_code ignored;
  if (name.find('/') != std::string::npos) {
    const std::filesystem::path path = directory / name;
    if (may_run(path)) return std::filesystem::absolute(path);
    if (!std::filesystem::exists(path, ignored)) throw Error("there is no program '" + path.string() + "'");
    throw Error("'" + path.string() + "' is no file that may be executed");
  }
  // Nobody changes the environment while a pipeline is prepared.
  const char* const listed = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::string_view places = listed == nullptr ? "/usr/local/bin:/usr/bin:/bin" : listed;
  bool seen = false;
  while (!places.empty() && !name.empty()) {
    const std::size_t colon = std::min(places.find(':'), places.size());
    const std::string_view place = places.substr(0, colon);
    const std::filesystem::path path =
        (place.empty() ? std::filesystem::path(".") : std::filesystem::path(place)) / name;
    if (may_run(path)) return std::filesystem::absolute(path);
    seen = seen || std::filesystem::exists(path, ignored);
    places.remove_prefix(std::min(colon + 1, places.size()));
  }
  if (seen) throw Error("the program '" + name + "' that PATH leads to may not be executed");
  throw Error("there is no program '" + name + "' in PATH");
}

std::string ChildEnd::text() const {
  if (exit_code >= 0) return "ended with exit code " + std::to_string(exit_code);
  const char* const description = ::sigdescr_np(signal);
  return "was ended by signal " + std::to_string(signal) +
         (description == nullptr ? std::string() : " (" + std::string(description) + ")");
}

ChildProcess::ChildProcess(const ChildCommand& command, LineRelay& errors) : relay_(errors) {
  PipeEnds input = make_pipe();
  PipeEnds output = make_pipe();
  PipeEnds said = make_pipe();
  stopped_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stopped_.valid()) throw system_error("cannot make a descriptor for events", errno);
  input_ = std::move(input.write);
  output_ = std::move(output.read);
  errors_ = std::move(said.read);
  never_block(input_);
  never_block(output_);
  never_block(errors_);
  start(command, input.read.get(), output.write.get(), said.write.get());
  ended_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  if (ended_.valid()) return;
  const int failure = errno;
  kill();
  throw system_error("cannot wait for a process by descriptor (Linux 5.3 can)", failure);
}

void ChildProcess::start(const ChildCommand& command, int input, int output, int errors) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = environment_with(command.environment);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  Launch launch;
  launch.program = command.program.c_str();
  launch.words = word_pointers.data();
  launch.environment = environment_pointers.data();
  launch.directory = command.directory.empty() ? nullptr : command.directory.c_str();
  launch.input = input;
  launch.output = output;
  launch.errors = errors;
  launch.parent = ::getpid();
  std::vector<std::byte> stack(kLaunchStackBytes);
  // A handler of this process must not run in the new one, which has the same memory until exec.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  process_ = ::clone(become, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
  const int refused = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (process_ < 0) throw system_error("cannot start a process", refused);
  if (launch.failed_at == nullptr) return;
  collect();
  throw system_error(launch.failed_at, launch.error_number).at_path(command.program);
}

ChildProcess::~ChildProcess() { kill(); }

void ChildProcess::queue(std::span<const std::byte> bytes) {
  if (!bytes.empty()) queued_.push_back(bytes);
}

/// Writes what there is room for; whether it was anything.
bool ChildProcess::send() {
  if (queued_.empty() || input_refused_ || !input_.valid()) return false;
  std::array<iovec, 16> pieces{};
  const std::size_t count = std::min(pieces.size(), queued_.size());
  for (std::size_t i = 0; i < count; ++i) {
    // iovec has one type for both directions.
    auto* const bytes = const_cast<std::byte*>(queued_[i].data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    pieces[i] = {bytes, queued_[i].size()};
  }
  ssize_t sent = 0;
  {
    const NoPipeSignal no_signal;
    do {
      sent = ::writev(input_.get(), pieces.data(), static_cast<int>(count));
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EPIPE) {
      no_signal.take();
      input_refused_ = true;
      return false;
    }
  }
  if (sent < 0) {
    if (errno == EAGAIN) return false;
    throw system_error("cannot write to the standard input of a process", errno);
  }
  auto left = static_cast<std::size_t>(sent);
  while (left != 0) {
    std::span<const std::byte>& first = queued_.front();
    const std::size_t part = std::min(left, first.size());
    first = first.subspan(part);
    left -= part;
    if (first.empty()) queued_.pop_front();
  }
  return sent > 0;
}

/// Bytes that came, 0 at the end of the stream; nothing when none are there yet.
std::optional<std::size_t> ChildProcess::receive(std::span<std::byte> room) {
  ssize_t got = 0;
  do {
    got = ::read(output_.get(), room.data(), room.size());
  } while (got < 0 && errno == EINTR);
  if (got >= 0) return static_cast<std::size_t>(got);
  if (errno == EAGAIN) return std::nullopt;
  throw system_error("cannot read from the standard output of a process", errno);
}

void ChildProcess::read_errors() {
  std::array<char, 4096> block{};
  while (errors_.valid()) {
    const ssize_t got = ::read(errors_.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    const std::string shown =
        got == 0 ? relay_.finish()
                 : relay_.take({block.data(), static_cast<std::size_t>(got)}, monotonic_clock().now_ns());
    if (got == 0) errors_.close();
    // What a program says is its own printing: it goes where it would have gone without the pipe.
    if (!shown.empty() && ::write(STDERR_FILENO, shown.data(), shown.size()) < 0) continue;
  }
}

ChildProcess::Exchange ChildProcess::exchange(std::span<std::byte> room, Duration timeout,
                                              const std::stop_token& stop) {
  for (;;) {
    const bool sent = send();
    if (!output_.valid()) return {Event::ended, 0};
    const auto got = receive(room);
    if (got && *got != 0) return {Event::moved, *got};
    if (got) return {Event::ended, 0};
    if (sent) return {Event::moved, 0};
    if (has_ended_) return {Event::ended, 0};  // somebody else holds its output open, and says nothing
    const bool gone = input_refused_;
    const Duration limit = gone ? Duration(std::int64_t{kEndingMs} * 1'000'000) : timeout;
    switch (wait_for_events(!queued_.empty(), true, limit, stop)) {
      case Ready::something:
        break;
      case Ready::silent:
        return {gone ? Event::closed : Event::silent, 0};
      case Ready::stopped:
        return {Event::stopped, 0};
    }
  }
}

ChildProcess::Ready ChildProcess::wait_for_events(bool for_input, bool for_output, Duration timeout,
                                                  const std::stop_token& stop) {
  const int signal = stopped_.get();
  const std::stop_callback wake(stop, [signal] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(signal, &one, sizeof(one));
  });
  Clock& clock = monotonic_clock();
  const std::int64_t until_ns = timeout.count() == 0 ? 0 : clock.now_ns() + timeout.count();
  for (;;) {
    if (stop.stop_requested()) return Ready::stopped;
    // Without anything to send, poll still tells when nobody reads any more.
    const bool watches_input = input_.valid() && !input_refused_;
    // A descriptor below 0 is passed over by poll.
    std::array<pollfd, 5> watched{{{for_output && output_.valid() ? output_.get() : -1, POLLIN, 0},
                                   {watches_input ? input_.get() : -1, static_cast<short>(for_input ? POLLOUT : 0), 0},
                                   {errors_.valid() ? errors_.get() : -1, POLLIN, 0},
                                   {has_ended_ ? -1 : ended_.get(), POLLIN, 0},
                                   {signal, POLLIN, 0}}};
    const std::int64_t left_ns = timeout.count() == 0 ? 0 : until_ns - clock.now_ns();
    const int ready = ::poll(watched.data(), watched.size(), timeout.count() == 0 ? -1 : poll_timeout_ms(left_ns));
    if (ready < 0 && errno != EINTR) throw system_error("cannot wait for a process", errno);
    if (ready < 0) continue;
    if (ready == 0) return Ready::silent;
    if (watched[2].revents != 0) read_errors();
    if (watched[3].revents != 0) has_ended_ = true;
    if ((watched[1].revents & POLLERR) != 0) input_refused_ = true;
    if (watched[0].revents != 0 || watched[1].revents != 0 || watched[3].revents != 0) return Ready::something;
  }
}

std::optional<ChildEnd> ChildProcess::wait(Duration timeout, const std::stop_token& stop) {
  if (process_ <= 0) return end_;
  while (!has_ended_) {
    if (wait_for_events(false, false, timeout, stop) != Ready::something) return std::nullopt;
  }
  read_errors();
  ::kill(-process_, SIGKILL);
  return collect();
}

ChildEnd ChildProcess::kill() noexcept {
  if (process_ <= 0) return end_;
  ::kill(-process_, SIGKILL);
  ::kill(process_, SIGKILL);
  return collect();
}

ChildEnd ChildProcess::collect() noexcept {
  int status = 0;
  rusage usage{};
  while (::wait4(process_, &status, 0, &usage) < 0 && errno == EINTR) continue;
  process_ = -1;
  has_ended_ = true;
  end_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end_.cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
  return end_;
}

std::int64_t ChildProcess::cpu_ns() const {
  if (process_ <= 0) return end_.cpu_ns;
  std::ifstream file("/proc/" + std::to_string(process_) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The second field is the name in brackets, which may have anything in it. Fields 14 to 17 of proc(5): user and
  // system time, and those of children that were waited for.
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return 0;
  std::int64_t ticks = 0;
  std::size_t field = 2;
  for (std::size_t at = bracket + 1; at < text.size() && field < 17;) {
    const std::size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string::npos) break;
    at = std::min(text.find(' ', begin), text.size());
    if (++field < 14) continue;
    std::int64_t value = 0;
    std::from_chars(text.data() + begin, text.data() + at, value);
    ticks += value;
  }
  return ticks * (1'000'000'000 / std::max<long>(1, ::sysconf(_SC_CLK_TCK)));
}

}  // namespace millrace::io
