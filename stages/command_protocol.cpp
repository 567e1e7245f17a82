#include "stages/command_protocol.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

namespace millrace::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "MRC1";
/// The numbers of the element types in a frame, by place.
constexpr std::array<DType, 10> kTypes{DType::u8,  DType::i8,  DType::u16, DType::i16, DType::u32,
                                       DType::i32, DType::u64, DType::i64, DType::f32, DType::f64};
constexpr std::size_t kPayloadAlignment = 8;
/// Attributes are searched one by one.
constexpr std::size_t kMaxAttributes = 256;

static_assert(std::endian::native == std::endian::little, "frames are written as the numbers lie in memory");

template <typename T>
void append(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

template <typename T>
T take(std::span<const std::byte>& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
  return value;
}

std::string frame(FrameKind kind, std::string_view body) {
  std::string out(kMagic);
  append(out, static_cast<std::uint32_t>(kind));
  append(out, static_cast<std::uint64_t>(body.size()));
  return out.append(body);
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const ChunkType& type) {
  return {{"dtype", std::string(name_of(type.dtype))}, {"content", type.content}, {"max_bytes", type.max_bytes}};
}

/// Whether JSON can hold it, which is Unicode.
bool is_unicode(const std::string& text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char character) { return (character & 0x80) == 0; });
  if (ascii) return true;
  try {
    [[maybe_unused]] const std::string written = Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

/// Without those that JSON cannot hold: they stay with the chunk, and the program does not see them.
Json json_of(const Attributes& attributes) {
  Json json = Json::object();
  for (const auto& [name, value] : attributes.entries()) {
    const auto* const text = std::get_if<std::string>(&value);
    if (!is_unicode(name) || (text != nullptr && !is_unicode(*text))) continue;
    std::visit([&json, &name = name](const auto& held) { json[name] = held; }, value);
  }
  return json;
}

std::uint8_t number_of(DType dtype) {
  return static_cast<std::uint8_t>(std::find(kTypes.begin(), kTypes.end(), dtype) - kTypes.begin());
}

/// Printable, for a message.
std::string shown(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const char character = static_cast<char>(byte);
    text += character >= 0x20 && character < 0x7f ? character : '.';
  }
  return text;
}

Json parsed(std::string_view text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error(std::string(what) + " is no JSON object");
  return json;
}

AttributeValue value_of(const Json& value, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw Error("the attribute '" + name + "' is an integer beyond 64 bits with sign");
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  throw Error("the attribute '" + name + "' is neither a text nor a number");
}

}  // namespace

std::string hello_frame(const Hello& hello) {
  return frame(FrameKind::hello, text_of({{"version", kVersion},
                                          {"stage", hello.stage},
                                          {"input", json_of(hello.input)},
                                          {"output", json_of(hello.output)},
                                          {"in_flight", hello.in_flight},
                                          {"options", hello.options}}));
}

std::string end_frame() { return frame(FrameKind::end, {}); }

std::string none_frame(std::uint64_t sequence) {
  std::string body;
  append(body, sequence);
  return frame(FrameKind::none, body);
}

std::string chunk_opening(const Chunk& chunk) {
  std::string attributes = chunk.attributes().entries().empty() ? "" : text_of(json_of(chunk.attributes()));
  // JSON may end in spaces.
  attributes.resize((attributes.size() + kPayloadAlignment - 1) / kPayloadAlignment * kPayloadAlignment, ' ');
  if (attributes.size() > kMaxTextBytes) throw Error("the attributes of a chunk are too long to be sent to a command");
  std::string out(kMagic);
  out.reserve(kHeadBytes + kFactBytes + attributes.size());
  append(out, static_cast<std::uint32_t>(FrameKind::chunk));
  append(out, std::uint64_t{kFactBytes + attributes.size() + chunk.size_bytes()});
  append(out, chunk.sequence());
  append(out, number_of(chunk.dtype()));
  append(out, static_cast<std::uint8_t>(chunk.shape().rank()));
  append(out, std::uint16_t{0});
  append(out, static_cast<std::uint32_t>(attributes.size()));
  for (std::size_t axis = 0; axis < Shape::kMaxRank; ++axis) {
    append(out, axis < chunk.shape().rank() ? chunk.shape()[axis] : std::uint64_t{0});
  }
  return out += attributes;
}

Head parse_head(std::span<const std::byte, kHeadBytes> bytes) {
  std::span<const std::byte> rest(bytes);
  if (std::memcmp(rest.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error("its standard output has '" + shown(rest.first(kHeadBytes)) + "' where a frame should begin with '" +
                std::string(kMagic) + "'; what it prints must go to standard error");
  }
  rest = rest.subspan(kMagic.size());
  const auto kind = take<std::uint32_t>(rest);
  Head head;
  head.bytes = take<std::uint64_t>(rest);
  if (kind < 1 || kind > static_cast<std::uint32_t>(FrameKind::end)) {
    throw Error("it sent a frame of the unknown kind " + std::to_string(kind));
  }
  head.kind = static_cast<FrameKind>(kind);
  const bool fits = head.kind == FrameKind::hello   ? head.bytes <= kMaxTextBytes
                    : head.kind == FrameKind::chunk ? head.bytes >= kFactBytes
                    : head.kind == FrameKind::none  ? head.bytes == kNoneBytes
                                                    : head.bytes == 0;
  if (!fits) {
    throw Error("it sent a frame of kind " + std::to_string(kind) + " with " + std::to_string(head.bytes) +
                " bytes, which cannot be");
  }
  return head;
}

Facts parse_facts(std::span<const std::byte, kFactBytes> bytes, const Head& head) {
  std::span<const std::byte> rest(bytes);
  Facts facts;
  facts.sequence = take<std::uint64_t>(rest);
  const auto dtype = take<std::uint8_t>(rest);
  const auto rank = take<std::uint8_t>(rest);
  const auto zero = take<std::uint16_t>(rest);
  facts.attribute_bytes = take<std::uint32_t>(rest);
  const std::string of_chunk = "its answer to chunk " + std::to_string(facts.sequence);
  if (dtype >= kTypes.size()) throw Error(of_chunk + " has the unknown dtype " + std::to_string(dtype));
  facts.dtype = kTypes.at(dtype);
  if (rank > Shape::kMaxRank) throw Error(of_chunk + " has " + std::to_string(rank) + " dimensions; 4 are possible");
  if (zero != 0) throw Error(of_chunk + " has something in the two bytes that must be 0");
  std::array<std::uint64_t, Shape::kMaxRank> extents{};
  for (auto& extent : extents) extent = take<std::uint64_t>(rest);
  for (std::size_t axis = rank; axis < extents.size(); ++axis) {
    if (extents.at(axis) != 0) throw Error(of_chunk + " has an extent beyond its dimensions");
  }
  switch (rank) {
    case 0:
      break;
    case 1:
      facts.shape = {extents[0]};
      break;
    case 2:
      facts.shape = {extents[0], extents[1]};
      break;
    case 3:
      facts.shape = {extents[0], extents[1], extents[2]};
      break;
    default:
      facts.shape = {extents[0], extents[1], extents[2], extents[3]};
  }
  if (facts.attribute_bytes > kMaxTextBytes || facts.attribute_bytes > head.bytes - kFactBytes) {
    throw Error(of_chunk + " claims attributes of " + std::to_string(facts.attribute_bytes) + " bytes");
  }
  facts.payload_bytes = head.bytes - kFactBytes - facts.attribute_bytes;
  const std::uint64_t elements = facts.shape.elements();
  const std::uint64_t size = size_of(facts.dtype);
  if (elements > std::numeric_limits<std::uint64_t>::max() / size || elements * size != facts.payload_bytes) {
    throw Error(of_chunk + " has " + std::to_string(facts.payload_bytes) + " bytes of data, not those of a " +
                std::string(name_of(facts.dtype)) + " " + facts.shape.text());
  }
  return facts;
}

std::uint64_t parse_none(std::span<const std::byte, kNoneBytes> bytes) {
  std::span<const std::byte> rest(bytes);
  return take<std::uint64_t>(rest);
}

Attributes parse_attributes(std::string_view json) {
  Attributes attributes;
  if (json.empty()) return attributes;
  const Json object = parsed(json, "what it sent as attributes");
  if (object.size() > kMaxAttributes)
    throw Error("it sent " + std::to_string(object.size()) + " attributes; " + std::to_string(kMaxAttributes) +
                " are possible");
  for (const auto& [name, value] : object.items()) {
    if (!value.is_null()) attributes.set(name, value_of(value, name));
  }
  return attributes;
}

void check_hello(std::string_view json) {
  const Json hello = parsed(json, "its hello");
  const auto version = hello.find("version");
  if (version == hello.end() || !version->is_number_unsigned()) throw Error("its hello has no 'version'");
  if (version->get<std::uint64_t>() != kVersion) {
    throw Error("it speaks version " + version->dump() + " of the protocol; this is version " +
                std::to_string(kVersion));
  }
}

// --- replies -------------------------------------------------------------------------------------------------------

std::span<std::byte> ReplyReader::room() {
  switch (part_) {
    case Part::hello:
    case Part::attributes:
      return std::as_writable_bytes(std::span(text_)).subspan(filled_);
    case Part::payload:
      return reply_.payload.writable().subspan(filled_);
    default:
      return std::span(fixed_).subspan(filled_, wanted_ - filled_);
  }
}

std::optional<Reply> ReplyReader::filled(std::size_t bytes) {
  filled_ += bytes;
  if (filled_ < wanted_) return std::nullopt;
  std::optional<Reply> reply = next_part();
  if (!reply) return std::nullopt;
  begin(Part::head, kHeadBytes);
  return reply;
}

void ReplyReader::begin(Part part, std::size_t bytes) {
  part_ = part;
  wanted_ = bytes;
  filled_ = 0;
}

/// The part is whole: begins the next one, or gives the reply when it was the last.
std::optional<Reply> ReplyReader::next_part() {
  switch (part_) {
    case Part::head:
      return begin_frame();
    case Part::hello:
      check_hello(text());
      break;
    case Part::facts:
      begin_chunk();
      return part_ == Part::attributes ? std::nullopt : begin_payload();
    case Part::attributes:
      reply_.attributes = parse_attributes(text());
      return begin_payload();
    case Part::payload:
      break;
    case Part::none:
      reply_.sequence = parse_none(std::span(fixed_).first<kNoneBytes>());
      break;
  }
  return std::exchange(reply_, {});
}

std::optional<Reply> ReplyReader::begin_frame() {
  head_ = parse_head(std::span(fixed_).first<kHeadBytes>());
  reply_ = {};
  reply_.kind = head_.kind;
  switch (head_.kind) {
    case FrameKind::hello:
      if (head_.bytes == 0) throw Error("its hello is empty");
      text_.resize(head_.bytes);
      begin(Part::hello, head_.bytes);
      return std::nullopt;
    case FrameKind::chunk:
      begin(Part::facts, kFactBytes);
      return std::nullopt;
    case FrameKind::none:
      begin(Part::none, kNoneBytes);
      return std::nullopt;
    case FrameKind::end:
      break;
  }
  return std::exchange(reply_, {});
}

void ReplyReader::begin_chunk() {
  facts_ = parse_facts(fixed_, head_);
  const std::string of_chunk = "its answer to chunk " + std::to_string(facts_.sequence);
  if (facts_.dtype != output_.dtype) {
    throw Error(of_chunk + " is " + std::string(name_of(facts_.dtype)) + ", not " +
                std::string(name_of(output_.dtype)) + " (see output_dtype)");
  }
  if (facts_.payload_bytes > output_.max_bytes) {
    throw Error(of_chunk + " has " + std::to_string(facts_.payload_bytes) + " bytes, more than the " +
                std::to_string(output_.max_bytes) + " that were announced (see max_output)");
  }
  reply_.sequence = facts_.sequence;
  reply_.dtype = facts_.dtype;
  reply_.shape = facts_.shape;
  if (facts_.attribute_bytes == 0) return;
  text_.resize(facts_.attribute_bytes);
  begin(Part::attributes, facts_.attribute_bytes);
}

std::optional<Reply> ReplyReader::begin_payload() {
  reply_.payload = loan(facts_.payload_bytes);
  if (facts_.payload_bytes == 0) return std::exchange(reply_, {});
  begin(Part::payload, facts_.payload_bytes);
  return std::nullopt;
}

}  // namespace millrace::command
