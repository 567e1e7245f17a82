#pragma once

#include <unistd.h>

namespace millrace::test {

/// While it lives, a process of root has the rights of nobody: file permissions count. Changes nothing for other users.
class Unprivileged {
 public:
  Unprivileged() : before_(::geteuid()), dropped_(before_ != 0 || ::seteuid(kNobody) == 0) {}
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
  ~Unprivileged() {
    if (before_ == 0) [[maybe_unused]]
      const int restored = ::seteuid(0);
  }

  /// False when root could not get rid of its rights: skip.
  bool dropped() const { return dropped_; }

 private:
  static constexpr uid_t kNobody = 65534;
  uid_t before_;
  bool dropped_;
};

}  // namespace millrace::test
