#include "apps/signals.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

#include "apps/exit_code.h"
#include "io/live_temporaries.h"

namespace millrace::apps {
namespace {

// A handler has no other way to its object. Constant-initialised and lock-free, so that it may be read there.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<RunControl*> target{nullptr};
std::atomic<int> received{0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<RunControl*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void say(std::string_view text) noexcept {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void on_signal(int /*number*/) {
  const int saved_errno = errno;
  RunControl* const control = target.load();
  const int count = received.fetch_add(1) + 1;
  if (count == 1 && control != nullptr) {
    control->drain();
    say("\nmillrace: interrupted: finishing what is in flight (once more: stop now)\n");
  } else if (count == 2 && control != nullptr) {
    control->stop_now();
    say("\nmillrace: stopping now (once more: end at once)\n");
  } else {
    io::remove_live_temporaries();
    say("\nmillrace: error: ended by the third signal\n");
    ::_exit(kInterrupted);
  }
  errno = saved_errno;
}

void handle_with(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaddset(&action.sa_mask, SIGINT);
  ::sigaddset(&action.sa_mask, SIGTERM);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

SignalsToRun::SignalsToRun(RunControl& control) {
  received.store(0);
  target.store(&control);
  handle_with(on_signal);
}

SignalsToRun::~SignalsToRun() {
  handle_with(SIG_DFL);
  target.store(nullptr);
}

}  // namespace millrace::apps
