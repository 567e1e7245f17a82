// A program for the stage `command` that does what its first argument says, most of it wrong. It has the protocol of
// its own, from the description and not from the stage's code.

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

bool read_all(void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t got = ::read(STDIN_FILENO, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void write_all(const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::write(STDOUT_FILENO, bytes.data() + at, bytes.size() - at);
    if (put <= 0) ::_exit(99);
    at += static_cast<std::size_t>(put);
  }
}

template <typename T>
std::string number(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

struct Frame {
  std::uint32_t kind = 0;
  std::string body;

  std::uint64_t sequence() const {
    std::uint64_t value = 0;
    std::memcpy(&value, body.data(), sizeof(value));
    return value;
  }
};

constexpr std::uint32_t kHello = 1;
constexpr std::uint32_t kChunk = 2;
constexpr std::uint32_t kNone = 3;
constexpr std::uint32_t kEnd = 4;

std::string framed(std::uint32_t kind, const std::string& body) {
  return "MRC1" + number(kind) + number(std::uint64_t{body.size()}) + body;
}

/// Up to the end of the facts of a chunk only, when `payload` is false.
bool read_frame(Frame& frame, bool payload = true) {
  std::string head(16, '\0');
  if (!read_all(head.data(), head.size())) return false;
  std::uint64_t bytes = 0;
  std::memcpy(&frame.kind, head.data() + 4, 4);
  std::memcpy(&bytes, head.data() + 8, 8);
  frame.body.assign(payload || frame.kind != kChunk ? bytes : 48, '\0');
  return read_all(frame.body.data(), frame.body.size());
}

std::string chunk(std::uint64_t sequence, std::uint8_t dtype, const std::vector<std::uint64_t>& shape,
                  const std::string& attributes, const std::string& payload) {
  std::string body = number(sequence) + number(dtype) + number(static_cast<std::uint8_t>(shape.size())) +
                     number(std::uint16_t{0}) + number(static_cast<std::uint32_t>(attributes.size()));
  for (std::size_t axis = 0; axis < 4; ++axis) body += number(axis < shape.size() ? shape[axis] : std::uint64_t{0});
  return framed(kChunk, body + attributes + payload);
}

std::string with_attributes(const Frame& frame, const std::string& json) {
  return chunk(frame.sequence(), 2 + 1, {0}, json, "");  // an i16 without elements
}

int open_descriptors() {
  DIR* const directory = ::opendir("/proc/self/fd");
  int count = -1;  // its own
  while (const dirent* const entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') ++count;
  }
  ::closedir(directory);
  return count;
}

std::string text_of_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void burn(double seconds) {
  const std::clock_t until = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  while (std::clock() < until) continue;
}

/// What to do with a chunk instead of sending it back; whether anything was done.
bool scripted(const std::string& script, const std::string& argument, const Frame& frame) {
  const std::uint64_t sequence = frame.sequence();
  if (script == "none_for_odd" && sequence % 2 == 1) {
    write_all(framed(kNone, number(sequence)));
  } else if (script == "attributes") {
    write_all(with_attributes(frame, R"({"model": "m", "n": 7, "mean": 2.5, "left": null})"));
  } else if (script == "nested_attribute") {
    write_all(with_attributes(frame, R"({"model": {"a": 1}})"));
  } else if (script == "two_rows") {
    write_all(chunk(sequence, 0, {2, 3}, "", "ACG\1\2\3"));
  } else if (script == "bad_magic") {
    write_all("Hello, I am a print statement");
  } else if (script == "wrong_sequence") {
    write_all(framed(kNone, number(sequence + 1)));
  } else if (script == "twice") {
    write_all(framed(kNone, number(sequence)) + framed(kNone, number(sequence)));
  } else if (script == "wrong_dtype") {
    write_all(chunk(sequence, 8, {1}, "", "1234"));
  } else if (script == "too_large") {
    write_all(chunk(sequence, 3, {1 << 20}, "", std::string(2 << 20, 'x')));
  } else if (script == "endless") {
    write_all("MRC1" + number(kChunk) + number(~std::uint64_t{0}) + std::string(48, '\1'));
    wait_for_ever();
  } else if (script == "short") {
    write_all(chunk(sequence, 3, {4}, "", "123456"));
  } else if (script == "early_end") {
    write_all(framed(kEnd, ""));
  } else if (script == "hello_again") {
    write_all(framed(kHello, R"({"version": 1})"));
  } else if (script == "exit") {
    const std::string words = "loading the model\nthe model is broken\n";
    if (::write(STDERR_FILENO, words.data(), words.size()) < 0) ::_exit(98);
    ::_exit(3);
  } else if (script == "half") {
    write_all("MRC1" + number(kChunk));
    ::_exit(0);
  } else if (script == "killed") {
    ::kill(::getpid(), SIGKILL);
  } else if (script == "silent") {
    wait_for_ever();
  } else if (script == "die_once" && ::access(argument.c_str(), F_OK) != 0) {
    std::ofstream(argument) << "died";
    ::_exit(4);
  } else if (script == "die_at" && sequence == std::stoull(argument)) {
    ::_exit(5);
  } else if (script == "burn") {
    burn(0.1);
    return false;
  } else if (script == "surroundings") {
    char directory[4096];
    const std::string here = ::getcwd(directory, sizeof(directory)) == nullptr ? "" : directory;
    write_all(with_attributes(frame, R"({"directory": ")" + here + R"(", "variable": ")" +
                                         text_of_variable("MILLRACE_TEST") + R"(", "home": ")" +
                                         text_of_variable("HOME") + R"(", "descriptors": )" +
                                         std::to_string(open_descriptors()) + "}"));
  } else if (script == "talk") {
    std::string lines;
    for (int i = 0; i < std::stoi(argument); ++i) lines += "line " + std::to_string(i) + "\n";
    if (::write(STDERR_FILENO, lines.data(), lines.size()) < 0) ::_exit(98);
    return false;
  } else if (script == "orphan") {
    // Who starts a process that holds the pipes, and dies.
    if (::fork() == 0) {
      [[maybe_unused]] const int held = ::open(argument.c_str(), O_WRONLY | O_CLOEXEC);
      wait_for_ever();
    }
    ::_exit(6);
  } else {
    return false;
  }
  return true;
}

/// Answers a chunk before it has read its bytes, with as many bytes.
int answer_first() {
  Frame frame;
  while (read_frame(frame, false)) {
    if (frame.kind != kChunk) {
      write_all(framed(frame.kind, frame.body));
      if (frame.kind == kEnd) return 0;
      continue;
    }
    std::uint32_t attributes = 0;
    std::uint64_t elements = 0;
    std::memcpy(&attributes, frame.body.data() + 12, 4);
    std::memcpy(&elements, frame.body.data() + 16, 8);
    write_all(chunk(frame.sequence(), 3, {elements}, "", std::string(2 * elements, 'z')));
    std::string rest(attributes + 2 * elements, '\0');
    if (!read_all(rest.data(), rest.size())) return 1;
  }
  return 1;
}

/// Reads `size` chunks, then answers them all.
int in_batches(std::size_t size) {
  std::string batch;
  std::size_t count = 0;
  Frame frame;
  while (read_frame(frame)) {
    batch += framed(frame.kind, frame.body);
    if (frame.kind == kChunk && ++count < size) continue;
    write_all(batch);
    batch.clear();
    count = 0;
    if (frame.kind == kEnd) return 0;
  }
  return 1;
}

int say_hello(const std::string& script, Frame& hello) {
  if (!read_frame(hello) || hello.kind != kHello) return 90;
  if (script == "no_hello") ::_exit(8);
  if (script == "old_version") hello.body = R"({"version": 0})";
  if (script == "says_hello_wrong") hello.body = "hello";
  write_all(framed(kHello, hello.body));
  if (script == "closes_input") {
    ::close(STDIN_FILENO);
    wait_for_ever();
  }
  if (script == "closes_output") {
    ::close(STDOUT_FILENO);
    ::_exit(7);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string script = argc > 1 ? argv[1] : "";
  const std::string argument = argc > 2 ? argv[2] : "";
  if (script == "answers_first") return answer_first();
  if (script == "batches") return in_batches(std::stoul(argument));
  Frame hello;
  if (const int failed = say_hello(script, hello); failed != 0) return failed;
  if (script == "keeps_hello") std::ofstream(argument) << hello.body;
  for (Frame frame; read_frame(frame);) {
    if (frame.kind == kEnd) {
      if (script == "end_unanswered") return 0;
      write_all(framed(kEnd, ""));
      if (script == "stays") wait_for_ever();
      return script == "fails_at_the_end" ? 9 : 0;
    }
    if (!scripted(script, argument, frame)) write_all(framed(frame.kind, frame.body));
  }
  return 91;
}
