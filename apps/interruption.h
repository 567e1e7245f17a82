#pragma once

#include "io/file_descriptor.h"

namespace millrace::apps {

/// Takes SIGINT and SIGTERM as something to ask for, while it lives: nothing is interrupted in the middle, whoever
/// works asks between two steps. For commands of one thread; one object at a time. Signals that nobody asked about have
/// their usual effect when it ends.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// True from the first signal on.
  bool requested();
  /// Readable when a signal came that nobody asked about yet; for poll(2).
  int descriptor() const { return descriptor_.get(); }

 private:
  io::FileDescriptor descriptor_;
  bool requested_ = false;
};

}  // namespace millrace::apps
