#include "stages/command.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "pipeline/core/units.h"

namespace millrace {
namespace {

/// More would be more chunks than a link usually holds.
constexpr std::uint32_t kMostInFlight = 1024;
constexpr double kLargestFactor = 1e6;

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// "4x", "1.5x": the number; nothing for another text.
std::optional<double> factor_of(std::string_view text) {
  if (text.size() < 2 || text.back() != 'x') return std::nullopt;
  text.remove_suffix(1);
  double factor = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  if (!(factor > 0 && factor <= kLargestFactor)) return std::nullopt;
  return factor;
}

}  // namespace

Command::Command(const Options& options)
    : options_(options),
      command_{{},
               options.require<std::vector<std::string>>("command", "program and its arguments"),
               options.directory(),
               options.get<std::vector<std::string>>("environment", {}, "NAME=value, beside what is inherited")},
      content_(options.get<std::string>("output", "", "what its elements mean; empty = the same as before")),
      max_output_(
          options.get<std::string>("max_output", "1x", "largest answer: a size, or a factor of the largest input")),
      text_(options.get<std::string>("options", "", "a text for the program, told in its hello")),
      timeout_(
          options.get<Duration>("timeout", Duration(0), "longest silence while an answer is due; 0 ns = no limit")),
      in_flight_(options.get<std::uint32_t>("in_flight", 1, "chunks sent before the first must be answered")),
      max_restarts_(options.get<std::uint64_t>("max_restarts", 3, "per slot; with restart = \"chunk\"")),
      relay_(options.stage().empty() ? "command" : options.stage()) {
  const auto dtype = options.get<std::string>("output_dtype", "", "type of its elements; empty = the same as before");
  const auto restart =
      options.get<std::string>("restart", "never", "when it dies: never, or chunk: once for each chunk");
  if (!dtype.empty()) {
    dtype_ = dtype_named(dtype);
    if (!dtype_) throw options.error_at("output_dtype", "'output_dtype' is no element type: '" + dtype + "'");
  }
  if (!factor_of(max_output_) && !parse_bytes(max_output_)) {
    throw options.error_at("max_output",
                           "'max_output' must be a size with its unit, like \"4 MiB\", or a factor of the "
                           "input, like \"2x\", not '" +
                               max_output_ + "'");
  }
  if (in_flight_ == 0 || in_flight_ > kMostInFlight) {
    throw options.error_at("in_flight", "'in_flight' must be between 1 and " + std::to_string(kMostInFlight));
  }
  if (restart != "never" && restart != "chunk") {
    throw options.error_at("restart", "'restart' must be never or chunk, not '" + restart + "'");
  }
  restarts_allowed_ = restart == "chunk";
  for (const std::string& entry : command_.environment) {
    if (entry.find('=') == std::string::npos || entry.front() == '=') {
      throw options.error_at("environment", "'environment' has '" + entry + "', which is not NAME=value");
    }
  }
}

Command::~Command() = default;

std::uint64_t Command::max_output(std::uint64_t input_bytes) const {
  if (const auto size = parse_bytes(max_output_)) return size->count;
  const double bytes = std::ceil(factor_of(max_output_).value_or(1) * static_cast<double>(input_bytes));
  constexpr auto kMost = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  if (bytes >= kMost) throw options_.error_at("max_output", "'max_output' is more than any memory");
  return static_cast<std::uint64_t>(bytes);
}

ChunkType Command::prepare(const ChunkType& input) {
  if (command_.words.empty() || command_.words.front().empty()) {
    throw options_.error_at("command", "'command' names no program");
  }
  try {
    command_.program = io::find_program(command_.words.front(), command_.directory);
  } catch (const Error& error) {
    const bool one_text = command_.words.size() == 1 && command_.words.front().find(' ') != std::string::npos;
    throw options_.error_at("command",
                            error.message() + (one_text ? "; a program with arguments is a list of texts" : ""));
  }
  ChunkType output{dtype_.value_or(input.dtype), content_.empty() ? input.content : content_,
                   max_output(input.max_bytes), 0};
  if (output.content == input.content) output.decoded_max_bytes = input.decoded_max_bytes;
  hello_ = {options_.stage(), input, output, in_flight_, text_};
  return output;
}

std::uint64_t Command::state_bytes() const { return io::LineRelay::kStateBytes + command::kMaxTextBytes; }

std::vector<std::string> Command::plan_notes() const {
  return {"runs '" + words_of(command_.words) + "', one process per slot: " + command_.program.string()};
}

std::optional<Chunk> Command::process(Chunk chunk) {
  if (!process_) start();
  std::string opening = command::chunk_opening(chunk);
  sent_.push_back({std::move(chunk), std::move(opening), std::nullopt, false});
  send(sent_.back());
  while (!process_->all_sent() || (sent_.size() >= in_flight_ && !sent_.front().reply)) turn();
  return hand_on();
}

std::optional<Chunk> Command::finish() {
  // Before the last answers: a program that collects batches waits for no more chunks then.
  if (process_ && !std::exchange(ending_, true)) process_->send_end();
  while (!sent_.empty()) {
    while (!sent_.front().reply) turn();
    if (auto output = hand_on()) return output;
  }
  if (process_) {
    try {
      process_->finish(call_context().stop);
    } catch (const Error& error) {
      fail(error.message());
    }
    discard_process();
  }
  return std::nullopt;
}

void Command::start() {
  try {
    process_ = std::make_unique<command::Process>(command_, hello_, relay_, timeout_);
  } catch (const Error& error) {
    throw Error("cannot start '" + words_of(command_.words) + "': " + error.message()).at_path(error.path());
  }
}

void Command::send(const Sent& sent) { process_->send(std::as_bytes(std::span(sent.opening)), sent.chunk.bytes()); }

void Command::turn() {
  command::Process::Turn moved;
  try {
    moved = process_->turn(call_context().stop);
    if (moved.reply) answer(std::move(*moved.reply));
  } catch (const Error& error) {
    fail(error.message());
  }
  if (!moved.death.empty()) replace(moved.death);
}

Command::Sent* Command::oldest_unanswered() {
  for (Sent& sent : sent_) {
    if (!sent.reply) return &sent;
  }
  return nullptr;
}

void Command::answer(command::Reply reply) {
  Sent* const oldest = oldest_unanswered();
  if (oldest == nullptr) throw Error("it answered a chunk that it was not sent");
  if (reply.sequence != oldest->chunk.sequence()) {
    throw Error("it answered chunk " + std::to_string(reply.sequence) + ", but the answer to chunk " +
                std::to_string(oldest->chunk.sequence()) + " was due");
  }
  oldest->reply = std::move(reply);
}

/// A process died: another one gets what was not answered, or the run fails.
void Command::replace(const std::string& death) {
  Sent* const oldest = oldest_unanswered();
  const bool again = restarts_allowed_ && restarts_ < max_restarts_ && oldest != nullptr && !oldest->resent;
  if (!again) fail(death + (restarts_ == 0 ? "" : "; it was restarted " + std::to_string(restarts_) + " times before"));
  oldest->resent = true;
  ++restarts_;
  latest_death_ = death;
  discard_process();
  start();
  for (const Sent& sent : sent_) {
    if (!sent.reply) send(sent);
  }
  if (ending_) process_->send_end();
}

/// The oldest chunk, if it has its answer.
std::optional<Chunk> Command::hand_on() {
  if (sent_.empty() || !sent_.front().reply) return std::nullopt;
  Sent done = std::move(sent_.front());
  sent_.pop_front();
  command::Reply& reply = *done.reply;
  if (reply.kind == command::FrameKind::none) {
    ++nothings_;
    return std::nullopt;
  }
  Chunk output = done.chunk.with(std::move(reply.payload), reply.dtype, reply.shape);
  if (!reply.attributes.entries().empty()) {
    auto attributes = std::make_shared<Attributes>(output.attributes());
    for (const auto& [name, value] : reply.attributes.entries()) attributes->set(name, value);
    output.set_attributes(std::move(attributes));
  }
  return output;
}

void Command::discard_process() noexcept {
  if (!process_) return;
  // A process is collected before its time is known to the nanosecond.
  process_->kill();
  ended_cpu_ns_ += process_->cpu_ns();
  process_.reset();
}

void Command::fail(const std::string& failure) {
  std::string read;
  Error error("");
  const Sent* const oldest = oldest_unanswered();
  if (oldest != nullptr) {
    if (const auto id = oldest->chunk.attributes().text("read_id")) read = " (read " + std::string(*id) + ")";
  }
  error = Error("the command '" + words_of(command_.words) + "'" + read + ": " + failure);
  if (oldest != nullptr) error.at_chunk(oldest->chunk.sequence());
  discard_process();
  throw Error(error);
}

std::int64_t Command::child_cpu_ns() const { return ended_cpu_ns_ + (process_ ? process_->cpu_ns() : 0); }

Findings Command::findings() const {
  Findings findings;
  if (nothings_ != 0) findings.lines.push_back(std::to_string(nothings_) + " chunks were answered with nothing");
  if (restarts_ != 0) {
    findings.lines.push_back("was restarted " + std::to_string(restarts_) + (restarts_ == 1 ? " time" : " times") +
                             ", the latest because it " + latest_death_);
  }
  if (relay_.hidden() != 0) {
    findings.lines.push_back("said " + std::to_string(relay_.lines()) + " lines on standard error, of which " +
                             std::to_string(relay_.hidden()) + " were not shown");
  }
  return findings;
}

}  // namespace millrace
