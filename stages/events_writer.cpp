#include "stages/events_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

namespace millrace {
namespace {

constexpr std::size_t kTextBytes = 256 << 10;
/// Five tabs and a line break, three integers of at most 20 digits, two floats of at most 16 characters.
constexpr std::size_t kRowBytesWithoutId = 6 + 3 * 20 + 2 * 16;
constexpr std::size_t kFieldsPerEvent = 3;

/// Writes text into memory that is known to be large enough.
class Cursor {
 public:
  explicit Cursor(char* at) : at_(at) {}

  Cursor& text(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  Cursor& character(char character) {
    *at_++ = character;
    return *this;
  }
  template <typename Number>
  Cursor& number(Number number) {
    at_ = std::to_chars(at_, at_ + 20, number).ptr;
    return *this;
  }
  char* at() const { return at_; }

 private:
  char* at_;
};

std::uint64_t whole_samples(float length) {
  // 2^63 bounds the conversion; lengths that a float counts exactly are far below.
  if (!(length >= 0 && length < 0x1p63F) || length != std::floor(length)) {
    throw Error("an event of " + std::to_string(length) + " samples");
  }
  return static_cast<std::uint64_t>(length);
}

}  // namespace

EventsWriter::EventsWriter(const Options& options) : FileSink(options, "file to write; appears when it is complete") {}

void EventsWriter::prepare(const ChunkType& input) {
  input.require("events").require(DType::f32);
  open();
  text_.resize(kTextBytes);
  text_size_ = 0;
  output().append("read_id\tevent\tstart\tlength\tmean\tstdv\n");
}

void EventsWriter::consume(Chunk chunk) {
  if (chunk.shape().rank() != 2 || chunk.shape()[1] != kFieldsPerEvent) {
    throw Error("events have the shape [n, 3], not " + chunk.shape().text());
  }
  if (const auto read_id = chunk.attributes().text("read_id")) {
    if (read_id->find_first_of("\t\n\r") != std::string_view::npos) {
      throw Error("the read_id of a read has a tab or a line break");
    }
    write_rows(*read_id, chunk.view<float>());
  } else {
    write_rows("chunk-" + std::to_string(chunk.sequence()), chunk.view<float>());
  }
}

void EventsWriter::complete() { flush(); }

std::uint64_t EventsWriter::state_bytes() const { return FileSink::state_bytes() + text_.capacity(); }

void EventsWriter::write_rows(std::string_view read_id, std::span<const float> events) {
  const std::size_t row_bytes = read_id.size() + kRowBytesWithoutId;
  if (row_bytes > text_.size()) throw Error("a read_id of " + std::to_string(read_id.size()) + " characters");
  std::uint64_t start = 0;
  for (std::size_t event = 0; event * kFieldsPerEvent < events.size(); ++event) {
    if (text_.size() - text_size_ < row_bytes) flush();
    const float* const fields = &events[event * kFieldsPerEvent];
    const std::uint64_t length = whole_samples(fields[0]);
    Cursor row(text_.data() + text_size_);
    row.text(read_id).character('\t').number(event).character('\t').number(start).character('\t').number(length);
    row.character('\t').number(fields[1]).character('\t').number(fields[2]).character('\n');
    text_size_ = static_cast<std::size_t>(row.at() - text_.data());
    start += length;
  }
}

void EventsWriter::flush() {
  output().append(std::string_view(text_.data(), text_size_));
  text_size_ = 0;
}

}  // namespace millrace
