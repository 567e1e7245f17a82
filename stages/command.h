#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/child_process.h"
#include "io/line_relay.h"
#include "pipeline/core/stage.h"
#include "stages/command_process.h"
#include "stages/command_protocol.h"

namespace millrace {

/// Has another program transform the chunks: a caller of one's own, or one that feeds a GPU. Each slot starts one
/// process of it at its first chunk, and talks to it through its standard input and output as
/// stages/command_protocol.md says. It answers every chunk with a chunk or with nothing. Chunks keep their place,
/// origin and attributes; attributes that it sends are set beside them.
///
/// `in_flight` chunks are sent before the first must be answered, so that the program can put several into one batch.
/// With more than one, the output of chunk k comes out of a later call, so the stage has one slot.
///
/// A program that breaks the protocol, dies or is silent for too long fails the run with one line: the chunk, the read,
/// how it ended and what it said last. With `restart` = "chunk" a new process gets the chunks that were not answered,
/// each time that the old one died and until the same chunk was the oldest of them twice.
///
/// What the program says on standard error goes to this process's, in lines with the stage's name before them: it is
/// the program's own printing, not the stage's.
class Command final : public Transform {
 public:
  explicit Command(const Options& options);
  ~Command() override;

  bool parallel() const override { return in_flight_ == 1; }
  bool waits() const override { return true; }
  std::uint64_t state_bytes() const override;
  BufferNeeds buffer_needs() const override { return {in_flight_ - 1, 0}; }
  std::vector<std::string> plan_notes() const override;
  Findings findings() const override;
  std::int64_t child_cpu_ns() const override;

  /// Finds the program, and does not start it. Error (kind config) when it cannot be executed.
  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  std::optional<Chunk> finish() override;

 private:
  /// A chunk that was sent and is not handed on yet.
  struct Sent {
    Chunk chunk;
    std::string opening;
    std::optional<command::Reply> reply;
    bool resent = false;  ///< a process died when this was the oldest chunk without an answer
  };

  std::uint64_t max_output(std::uint64_t input_bytes) const;
  void start();
  void send(const Sent& sent);
  void turn();
  void answer(command::Reply reply);
  void replace(const std::string& death);
  Sent* oldest_unanswered();
  std::optional<Chunk> hand_on();
  void discard_process() noexcept;
  /// Throws `failure` with what is known of the chunk in hand.
  [[noreturn]] void fail(const std::string& failure);

  Options options_;
  io::ChildCommand command_;
  std::string content_;
  std::optional<DType> dtype_;
  std::string max_output_;
  std::string text_;
  Duration timeout_;
  std::uint32_t in_flight_;
  bool restarts_allowed_ = false;
  std::uint64_t max_restarts_;
  io::LineRelay relay_;
  command::Hello hello_;
  std::deque<Sent> sent_;  // before the process, which reads from their memory
  std::unique_ptr<command::Process> process_;
  bool ending_ = false;
  std::uint64_t restarts_ = 0;
  std::uint64_t nothings_ = 0;
  std::string latest_death_;
  std::int64_t ended_cpu_ns_ = 0;  // of processes that are gone
};

}  // namespace millrace
