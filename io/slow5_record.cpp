#include "io/slow5_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "io/stream_vbyte.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

using Kind = Slow5Field::Kind;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kCountBytes = 4;  // in front of a svb-zd stream
constexpr std::size_t kMaxIdLength = 1024;

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

/// Ids and texts go into tables and onto terminals: printable ASCII from `lowest` on.
bool is_printable(std::string_view text, char lowest = ' ') {
  return std::all_of(text.begin(), text.end(), [lowest](char c) { return c >= lowest && c < '\x7f'; });
}

void check_id(std::string_view id) {
  if (id.empty() || id.size() > kMaxIdLength || !is_printable(id, '!')) {
    throw Error("a record has a read_id that cannot be printed");
  }
}

/// Takes values off the front of bytes.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : rest_(bytes) {}

  template <typename T>
  bool can_take() const {
    return rest_.size() >= sizeof(T);
  }
  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  Bytes take_bytes(std::uint64_t count) {
    if (count > rest_.size()) {
      throw Error(fmt::format("a record ends too early: a field of {} bytes where {} are left", count, rest_.size()));
    }
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  Bytes rest() const { return rest_; }

 private:
  Bytes rest_;
};

std::uint32_t stored_count(Bytes signal) {
  std::uint32_t count;
  std::memcpy(&count, signal.data(), sizeof count);
  return count;
}

/// What the two lengths in front of the signal say; checked as far as can be without the signal.
std::uint64_t samples_of(std::uint64_t length, Slow5SignalCoding coding, std::optional<std::uint32_t> count) {
  if (coding == Slow5SignalCoding::none) {
    if (length > std::numeric_limits<std::int64_t>::max() / 4) {
      throw Error(fmt::format("a record claims {} samples", length));
    }
    return length;
  }
  if (length == 0) return 0;
  if (!count) throw Error(fmt::format("a record has a signal of {} bytes", length));
  if (length - kCountBytes < (std::uint64_t{*count} + 3) / 4 + *count) {
    throw Error(fmt::format("a record claims {} samples in {} bytes of signal", *count, length));
  }
  return *count;
}

// ------------------------------------------------------------------------------------------------- records of bytes

Slow5Record parse_binary(Bytes bytes, Slow5SignalCoding coding) {
  Cursor cursor(bytes);
  Slow5Record record;
  record.id = text_of(cursor.take_bytes(cursor.take<std::uint16_t>()));
  record.group = cursor.take<std::uint32_t>();
  record.digitisation = cursor.take<double>();
  record.offset = cursor.take<double>();
  record.range = cursor.take<double>();
  record.sampling_rate = cursor.take<double>();
  const auto length = cursor.take<std::uint64_t>();
  std::optional<std::uint32_t> count;
  if (coding == Slow5SignalCoding::svb_zd && length >= kCountBytes && cursor.can_take<std::uint32_t>()) {
    count = stored_count(cursor.rest());
  }
  record.samples = samples_of(length, coding, count);
  record.signal = cursor.take_bytes(coding == Slow5SignalCoding::none ? 2 * length : length);
  record.auxiliary = cursor.rest();
  return record;
}

template <typename T>
std::optional<AttributeValue> value_of(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return std::nullopt;
    return AttributeValue(static_cast<double>(value));
  } else {
    if (value == std::numeric_limits<T>::max()) return std::nullopt;
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return AttributeValue(std::to_string(value));
      }
    }
    return AttributeValue(static_cast<std::int64_t>(value));
  }
}

template <typename T>
std::optional<AttributeValue> take_value(Cursor& cursor, bool array) {
  if (!array) return value_of(cursor.take<T>());
  const auto count = cursor.take<std::uint64_t>();
  if (count > cursor.rest().size() / sizeof(T)) {
    throw Error(fmt::format("a record has an array of {} elements in {} bytes", count, cursor.rest().size()));
  }
  if (count == 0) return std::nullopt;
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", cursor.take<T>());
  return AttributeValue(std::move(text));
}

std::optional<AttributeValue> printable_text(std::string_view text) {
  if (text.empty() || text == "." || !is_printable(text)) return std::nullopt;
  return AttributeValue(std::string(text));
}

const std::string& label_of(const Slow5Field& field, std::uint64_t value) {
  if (value >= field.labels.size()) {
    throw Error(
        fmt::format("field '{}' has the value {} of an enumeration of {}", field.name, value, field.labels.size()));
  }
  return field.labels[value];
}

std::optional<AttributeValue> take_enumeration(Cursor& cursor, const Slow5Field& field) {
  constexpr std::uint8_t kNone = 0xff;
  if (!field.array) {
    const auto value = cursor.take<std::uint8_t>();
    return value == kNone ? std::nullopt : printable_text(label_of(field, value));
  }
  std::string text;
  for (const std::byte value : cursor.take_bytes(cursor.take<std::uint64_t>())) {
    text += (text.empty() ? "" : ",") + label_of(field, std::to_integer<std::uint64_t>(value));
  }
  return printable_text(text);
}

std::optional<AttributeValue> take_field(Cursor& cursor, const Slow5Field& field) {
  switch (field.kind) {
    case Kind::i8:
      return take_value<std::int8_t>(cursor, field.array);
    case Kind::i16:
      return take_value<std::int16_t>(cursor, field.array);
    case Kind::i32:
      return take_value<std::int32_t>(cursor, field.array);
    case Kind::i64:
      return take_value<std::int64_t>(cursor, field.array);
    case Kind::u8:
      return take_value<std::uint8_t>(cursor, field.array);
    case Kind::u16:
      return take_value<std::uint16_t>(cursor, field.array);
    case Kind::u32:
      return take_value<std::uint32_t>(cursor, field.array);
    case Kind::u64:
      return take_value<std::uint64_t>(cursor, field.array);
    case Kind::f32:
      return take_value<float>(cursor, field.array);
    case Kind::f64:
      return take_value<double>(cursor, field.array);
    case Kind::character:
      return printable_text(text_of(cursor.take_bytes(field.array ? cursor.take<std::uint64_t>() : 1)));
    case Kind::enumeration:
      return take_enumeration(cursor, field);
  }
  return std::nullopt;
}

// -------------------------------------------------------------------------------------------------- records of text

/// The columns of a line, taken off its front.
class Columns {
 public:
  explicit Columns(std::string_view line) : rest_(line) {}

  bool empty() const { return done_; }
  std::string_view rest() const { return rest_; }
  std::string_view take() {
    if (done_) throw Error("a record has too few columns");
    const auto end = rest_.find('\t');
    const std::string_view column = rest_.substr(0, end);
    done_ = end == std::string_view::npos;
    rest_.remove_prefix(done_ ? rest_.size() : end + 1);
    return column;
  }
  template <typename T>
  T take_number() {
    const std::string_view column = take();
    T value{};
    const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), value);
    if (error != std::errc() || end != column.data() + column.size()) {
      throw Error("a record has a number that cannot be read");
    }
    return value;
  }

 private:
  std::string_view rest_;
  bool done_ = false;
};

Slow5Record take_front(Columns& columns) {
  Slow5Record record;
  record.id = columns.take();
  record.group = columns.take_number<std::uint32_t>();
  record.digitisation = columns.take_number<double>();
  record.offset = columns.take_number<double>();
  record.range = columns.take_number<double>();
  record.sampling_rate = columns.take_number<double>();
  record.samples = columns.take_number<std::uint64_t>();
  return record;
}

Slow5Record parse_line(std::string_view line) {
  if (!line.ends_with('\n')) throw Error("a record is cut off: its line has no end");
  line.remove_suffix(1);
  Columns columns(line);
  Slow5Record record = take_front(columns);
  std::string_view signal = columns.take();
  if (signal == ".") signal = {};
  if (record.samples > (signal.size() + 1) / 2) {
    throw Error(fmt::format("a record claims {} samples in {} bytes of text", record.samples, signal.size()));
  }
  record.signal = bytes_of(signal);
  record.auxiliary = bytes_of(columns.rest());
  return record;
}

void decode_text(std::string_view text, std::span<std::int16_t> samples) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, samples[i]);
    const bool last = i + 1 == samples.size();
    if (error != std::errc() || (last ? next != end : next == end || *next != ',')) {
      throw Error(fmt::format("sample {} of {} cannot be read", i, samples.size()));
    }
    at = last ? next : next + 1;
  }
  if (samples.empty() && !text.empty()) throw Error("a record without samples has a signal");
}

std::optional<AttributeValue> enumeration_of(std::string_view column, const Slow5Field& field) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), value);
  if (error == std::errc() && end == column.data() + column.size()) return printable_text(label_of(field, value));
  if (std::find(field.labels.begin(), field.labels.end(), column) != field.labels.end()) return printable_text(column);
  throw Error(fmt::format("field '{}' has a value that its enumeration does not have", field.name));
}

std::optional<AttributeValue> value_of_column(std::string_view column, const Slow5Field& field) {
  if (column == ".") return std::nullopt;
  if (field.kind == Kind::character || field.array) return printable_text(column);
  if (field.kind == Kind::enumeration) return enumeration_of(column, field);
  Columns one(column);
  if (field.kind == Kind::f32 || field.kind == Kind::f64) return value_of(one.take_number<double>());
  if (field.kind == Kind::u64) return value_of(one.take_number<std::uint64_t>());
  return AttributeValue(one.take_number<std::int64_t>());
}

}  // namespace

bool parse_front(std::span<const std::byte> front, Slow5SignalCoding coding, Slow5Record& record) {
  constexpr std::size_t kFixedBytes = 4 + 4 * 8 + 8;
  if (front.size() < 2) return false;
  std::uint16_t id_bytes;
  std::memcpy(&id_bytes, front.data(), sizeof id_bytes);
  const std::size_t length_at = 2 + id_bytes + kFixedBytes - 8;
  if (front.size() < length_at + 8) return false;
  record.id = text_of(front.subspan(2, id_bytes));
  check_id(record.id);
  std::uint64_t length;
  std::memcpy(&length, front.data() + length_at, sizeof length);
  std::optional<std::uint32_t> count;
  if (coding == Slow5SignalCoding::svb_zd && length >= kCountBytes) {
    if (front.size() < length_at + 8 + kCountBytes) return false;
    count = stored_count(front.subspan(length_at + 8));
  }
  record.samples = samples_of(length, coding, count);
  Cursor numbers(front.subspan(2 + id_bytes));
  record.group = numbers.take<std::uint32_t>();
  record.digitisation = numbers.take<double>();
  record.offset = numbers.take<double>();
  record.range = numbers.take<double>();
  record.sampling_rate = numbers.take<double>();
  return true;
}

Slow5Record parse_line_front(std::string_view head) {
  Columns columns(head);
  Slow5Record record = take_front(columns);
  check_id(record.id);
  return record;
}

std::uint64_t max_slow5_samples(std::uint64_t bytes, Slow5SignalCoding coding) {
  // A StreamVByte value takes a byte and the quarter of one that its key is.
  return coding == Slow5SignalCoding::none ? bytes / 2 : bytes - bytes / 5;
}

Slow5Record Slow5RecordDecoder::open(std::span<const std::byte> stored, const Slow5Coding& coding,
                                     const Slow5Header& header, std::uint64_t max_samples) {
  Slow5Record record;
  if (coding.text) {
    record = parse_line(text_of(stored));
  } else {
    Cursor cursor(stored);
    const auto length = cursor.take<std::uint64_t>();
    if (length != stored.size() - kLengthBytes) {
      throw Error(fmt::format("a record of {} bytes says that it has {}", stored.size() - kLengthBytes, length));
    }
    const std::uint64_t most = stream_vbyte_max_bytes(max_samples) + kMaxOtherBytes;
    record = parse_binary(unpacker_.unpack(cursor.rest(), coding.packing, most), coding.signal);
  }
  check_id(record.id);
  if (record.group >= header.groups) {
    throw Error(fmt::format("a record is of read group {}; there are {}", record.group, header.groups));
  }
  if (record.samples > max_samples) {
    throw Error(fmt::format("has {} samples, more than the {} announced", record.samples, max_samples));
  }
  return record;
}

void Slow5RecordDecoder::decode(const Slow5Record& record, const Slow5Coding& coding, std::span<std::int16_t> samples) {
  if (coding.text) return decode_text(text_of(record.signal), samples);
  if (samples.empty()) return;
  if (coding.signal == Slow5SignalCoding::none) {
    std::memcpy(samples.data(), record.signal.data(), samples.size_bytes());
    return;
  }
  Bytes stream = record.signal.subspan(kCountBytes);
  const auto needed = stream_vbyte_bytes(stream, samples.size());
  if (!needed || *needed != stream.size()) {
    throw Error(fmt::format("the signal is damaged: its keys ask for {} bytes, there are {}", needed.value_or(0),
                            stream.size()));
  }
  // Behind an unpacked record there is room; behind one that lies in a buffer of the reader there may be none.
  if (coding.packing == Slow5Packing::none) {
    scratch_.resize(std::max(scratch_.size(), stream.size() + kStreamVbytePadding));
    std::memcpy(scratch_.data(), stream.data(), stream.size());
    stream = {scratch_.data(), stream.size()};
  }
  decode_stream_vbyte(stream.data(), ValueCoding::zigzag_delta, samples);
}

void Slow5RecordDecoder::add_attributes(const Slow5Record& record, const Slow5Coding& coding, const Slow5Header& header,
                                        Attributes& attributes) {
  attributes.set("read_id", std::string(record.id));
  attributes.set("samples", static_cast<std::int64_t>(record.samples));
  attributes.set("digitisation", record.digitisation);
  attributes.set("offset", record.offset);
  attributes.set("range", record.range);
  attributes.set("sampling_rate", record.sampling_rate);
  attributes.set("read_group", static_cast<std::int64_t>(record.group));
  const auto add = [&attributes](const Slow5Field& field, std::optional<AttributeValue> value) {
    if (value && attributes.find(field.name) == nullptr) attributes.set(field.name, std::move(*value));
  };
  if (coding.text) {
    if (record.auxiliary.empty() != header.fields.empty()) {
      throw Error("a record does not have as many columns as the header names");
    }
    if (header.fields.empty()) return;
    Columns columns(text_of(record.auxiliary));
    for (const auto& field : header.fields) add(field, value_of_column(columns.take(), field));
    if (!columns.empty()) throw Error("a record has more columns than the header names");
    return;
  }
  Cursor cursor(record.auxiliary);
  for (const auto& field : header.fields) add(field, take_field(cursor, field));
  if (!cursor.rest().empty()) {
    throw Error(fmt::format("a record has {} bytes behind its last field", cursor.rest().size()));
  }
}

}  // namespace millrace::io
