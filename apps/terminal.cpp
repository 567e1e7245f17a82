#include "apps/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "pipeline/core/error.h"

namespace millrace::apps {
namespace {

/// 0, or the errno value of the failed write.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string one_line(std::string_view message) {
  std::string text(message);
  std::replace_if(
      text.begin(), text.end(), [](char character) { return character == '\n' || character == '\r'; }, ' ');
  return text;
}

}  // namespace

void protect_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Read-only, so that writing to a closed output still fails.
    if (::open("/dev/null", O_RDONLY) < 0) throw system_error("cannot open /dev/null", errno);
  }
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) throw system_error("cannot ignore SIGPIPE", errno);
  if (std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR) throw system_error("cannot ignore SIGXFSZ", errno);
}

void print(std::string_view text) {
  if (const int failure = write_all(STDOUT_FILENO, text); failure != 0) {
    throw system_error("cannot write to standard output", failure);
  }
}

void print_error_stream(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

void print_error(std::string_view message) noexcept {
  print_error_stream("millrace: error: " + one_line(message) + "\n");
}

void print_notice(std::string_view message) noexcept { print_error_stream("millrace: " + one_line(message) + "\n"); }

bool is_terminal(Stream stream) { return ::isatty(stream == Stream::output ? STDOUT_FILENO : STDERR_FILENO) == 1; }

std::size_t terminal_columns() {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace millrace::apps
