#include "apps/interruption.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigprocmask is POSIX
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "pipeline/core/error.h"

namespace millrace::apps {
namespace {

sigset_t both_signals() {
  sigset_t set{};
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t set = both_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = io::FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_.valid()) throw system_error("cannot take signals by descriptor", errno);
}

Interruption::~Interruption() {
  const sigset_t set = both_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

bool Interruption::requested() {
  signalfd_siginfo information{};
  while (::read(descriptor_.get(), &information, sizeof(information)) > 0) requested_ = true;
  return requested_;
}

}  // namespace millrace::apps
