#pragma once

#include <filesystem>

namespace millrace::io {

/// Puts a path on the list of files that remove_live_temporaries() removes. The list is lock-free
/// and its places are used again, never freed, so that a signal handler may walk it at any moment.
class LiveTemporary {
 public:
  struct Place;

  LiveTemporary() = default;
  /// Error with the path when it is longer than the system allows (PATH_MAX).
  explicit LiveTemporary(const std::filesystem::path& path);
  LiveTemporary(LiveTemporary&& other) noexcept;
  LiveTemporary& operator=(LiveTemporary&& other) noexcept;
  ~LiveTemporary() { forget(); }

  /// Takes it off the list.
  void forget() noexcept;

 private:
  Place* place_ = nullptr;
};

/// Removes the files on the list. Async-signal-safe: for the last moments before _Exit, when stages are stuck or the
/// user insists. Who goes on after it finds its file gone.
void remove_live_temporaries() noexcept;

}  // namespace millrace::io
