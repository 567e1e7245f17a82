#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "io/child_process.h"
#include "stages/command_protocol.h"

namespace millrace::command {

/// One process of a command, from its hello to its end. Threads: one at a time.
class Process {
 public:
  /// Starts it and says hello, which it must answer before anything else. `relay` outlives it. `timeout` 0 = none.
  /// Error when it cannot be started.
  Process(const io::ChildCommand& command, const Hello& hello, io::LineRelay& relay, Duration timeout);

  /// Bytes of a chunk, behind what was sent before; they stay where they are until all_sent().
  void send(std::span<const std::byte> opening, std::span<const std::byte> payload);
  bool all_sent() const { return child_.all_sent(); }

  /// What happened next.
  struct Turn {
    std::optional<Reply> reply;  ///< of kind chunk or none
    std::string death;           ///< not empty: it is gone, and this is how, "ended with exit code 1: its last words"
  };
  /// Waits until some bytes have moved. Error when it breaks the protocol, and when the run is stopped.
  Turn turn(const std::stop_token& stop);

  /// Tells it that no more chunks come. Those that it has are to be answered before the end is.
  void send_end();
  /// After send_end(), when all chunks are answered: Error unless it answers the end, and ends with exit code 0.
  void finish(const std::stop_token& stop);

  /// Ends it at once, and what it started.
  void kill() noexcept { child_.kill(); }
  /// As ChildProcess::cpu_ns().
  std::int64_t cpu_ns() const { return child_.cpu_ns(); }

 private:
  std::optional<Reply> take(std::size_t bytes);
  std::string death_of(const std::string& how);
  std::string death_by_end();

  io::LineRelay& relay_;
  const Duration timeout_;
  std::string hello_;
  std::string end_;
  io::ChildProcess child_;
  ReplyReader reader_;
  bool greeted_ = false;
  bool ended_ = false;
};

}  // namespace millrace::command
