#include "stages/command_process.h"

#include <chrono>
#include <utility>

namespace millrace::command {
namespace {

/// A process that has closed its pipes, or has answered the end, is about to go.
constexpr Duration kTimeToGo = std::chrono::seconds(10);

[[noreturn]] void stopped() { throw Error("stopped while it waited for its command"); }

}  // namespace

Process::Process(const io::ChildCommand& command, const Hello& hello, io::LineRelay& relay, Duration timeout)
    : relay_(relay), timeout_(timeout), hello_(hello_frame(hello)), child_(command, relay), reader_(hello.output) {
  child_.queue(std::as_bytes(std::span(hello_)));
}

void Process::send(std::span<const std::byte> opening, std::span<const std::byte> payload) {
  child_.queue(opening);
  child_.queue(payload);
}

Process::Turn Process::turn(const std::stop_token& stop) {
  if (!end_.empty() && child_.all_sent()) child_.close_input();  // from now on it may close its side, too
  const auto moved = child_.exchange(reader_.room(), timeout_, stop);
  switch (moved.event) {
    case io::ChildProcess::Event::moved:
      return {take(moved.read), ""};
    case io::ChildProcess::Event::ended:
      return {std::nullopt, death_by_end()};
    case io::ChildProcess::Event::closed:
      child_.kill();
      return {std::nullopt, death_of("closed its standard input while there was more to come")};
    case io::ChildProcess::Event::silent:
      child_.kill();
      return {std::nullopt, death_of("was silent for " + spell_duration(timeout_) + " and was killed")};
    case io::ChildProcess::Event::stopped:
      break;
  }
  stopped();
}

/// What the next `bytes` bytes of its output complete; a hello and an end are noted here.
std::optional<Reply> Process::take(std::size_t bytes) {
  if (bytes == 0) return std::nullopt;
  std::optional<Reply> reply = reader_.filled(bytes);
  if (!reply) return std::nullopt;
  if (ended_) throw Error("it sent a frame after its end");
  if ((reply->kind == FrameKind::hello) == greeted_) {
    throw Error(greeted_ ? "it said hello twice" : "its first frame is no hello");
  }
  greeted_ = true;
  if (reply->kind == FrameKind::end) {
    if (end_.empty()) throw Error("it sent its end before it was told to");
    ended_ = true;
  }
  if (reply->kind == FrameKind::hello || reply->kind == FrameKind::end) return std::nullopt;
  return reply;
}

void Process::send_end() {
  end_ = end_frame();
  child_.queue(std::as_bytes(std::span(end_)));
}

void Process::finish(const std::stop_token& stop) {
  while (!ended_) {
    const Turn moved = turn(stop);
    if (!moved.death.empty()) throw Error(moved.death);
    if (moved.reply) throw Error("it answered a chunk that it was not sent");
  }
  child_.close_input();
  const auto end = child_.wait(timeout_.count() == 0 ? kTimeToGo : timeout_, stop);
  if (!end && stop.stop_requested()) stopped();
  if (!end) throw Error("it answered the end, but did not exit");
  if (end->exit_code != 0) throw Error(death_of(end->text()));
}

std::string Process::death_by_end() {
  // Its output is at its end, but it need not be: it may still say why, or hang.
  child_.close_input();
  const auto end = child_.wait(kTimeToGo, {});
  if (end) return death_of(end->text());
  child_.kill();
  return death_of("closed its standard output, did not exit, and was killed");
}

std::string Process::death_of(const std::string& how) {
  const std::string words = relay_.last_lines();
  return how + (reader_.in_a_frame() ? " in the middle of a frame" : "") +
         (words.empty() ? "" : "; it last said: " + words);
}

}  // namespace millrace::command
