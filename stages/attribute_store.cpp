#include "stages/attribute_store.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace millrace {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// How one value is packed; the byte in front of it.
enum class Packed : std::uint8_t {
  integer,   ///< zig-zag, seven bits a byte
  whole,     ///< the same, for a number that is a whole one
  single,    ///< a number that a float holds
  number,    ///< any other
  uuid,      ///< 16 bytes for a text of 36
  repeated,  ///< number of a text that is kept once
  text,      ///< length, and the text itself
};

constexpr std::size_t kMaxTexts = 4096;         // that are kept once
constexpr std::size_t kMaxRepeatedLength = 64;  // longer ones seldom come again
constexpr double kMaxWhole = 1e15;
constexpr std::uint64_t kNodeBytes = 64;  // of a map, without what its entry points to

void put_count(Bytes& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 0x80));
  to.push_back(static_cast<std::uint8_t>(value));
}

std::uint64_t take_count(const std::uint8_t*& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = *from++;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}

void put_integer(Bytes& to, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  put_count(to, (bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

std::int64_t take_integer(const std::uint8_t*& from) {
  const std::uint64_t bits = take_count(from);
  return static_cast<std::int64_t>((bits >> 1) ^ (std::uint64_t{0} - (bits & 1)));
}

template <typename T>
void put_raw(Bytes& to, const T& value) {
  std::array<std::uint8_t, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <typename T>
T take_raw(const std::uint8_t*& from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  from += sizeof value;
  return value;
}

void put_kind(Bytes& to, Packed kind) { to.push_back(static_cast<std::uint8_t>(kind)); }

void put_number(Bytes& to, double value) {
  const bool negative_zero = value == 0 && std::signbit(value);
  if (std::abs(value) <= kMaxWhole && value == std::trunc(value) && !negative_zero) {
    put_kind(to, Packed::whole);
    put_integer(to, static_cast<std::int64_t>(value));
  } else if (std::abs(value) <= std::numeric_limits<float>::max() &&
             static_cast<double>(static_cast<float>(value)) == value) {
    put_kind(to, Packed::single);
    put_raw(to, static_cast<float>(value));
  } else {
    put_kind(to, Packed::number);
    put_raw(to, value);
  }
}

constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kUuidBytes = 16;

bool is_dash(std::size_t place) { return place == 8 || place == 13 || place == 18 || place == 23; }

/// The bytes of a UUID in the usual spelling, small letters; nothing for any other text.
std::optional<std::array<std::uint8_t, kUuidBytes>> uuid_of(std::string_view text) {
  if (text.size() != kUuidLength) return std::nullopt;
  std::array<std::uint8_t, kUuidBytes> bytes{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_dash(i)) {
      if (c != '-') return std::nullopt;
      continue;
    }
    const bool decimal = c >= '0' && c <= '9';
    if (!decimal && (c < 'a' || c > 'f')) return std::nullopt;
    const auto digit = static_cast<unsigned>(decimal ? c - '0' : c - 'a' + 10);
    bytes[digits / 2] = static_cast<std::uint8_t>(bytes[digits / 2] << 4U | digit);
    ++digits;
  }
  return bytes;
}

std::string take_uuid(const std::uint8_t*& from) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kUuidLength, '-');
  std::size_t digits = 0;
  for (std::size_t i = 0; i < kUuidLength; ++i) {
    if (is_dash(i)) continue;
    const unsigned byte = from[digits / 2];
    text[i] = kDigits[digits % 2 == 0 ? byte >> 4U : byte & 0xfU];
    ++digits;
  }
  from += kUuidBytes;
  return text;
}

}  // namespace

void AttributeStore::add(const Attributes& attributes) {
  Names names;
  names.reserve(attributes.entries().size());
  for (const auto& [name, value] : attributes.entries()) names.push_back(name);
  const auto [schema, is_new] = schema_numbers_.try_emplace(std::move(names), schemas_.size());
  if (is_new) schemas_.push_back(schema->first);

  starts_.push_back(bytes_.size());
  put_count(bytes_, schema->second);
  for (const auto& [name, value] : attributes.entries()) {
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
      put_kind(bytes_, Packed::integer);
      put_integer(bytes_, *integer);
    } else if (const auto* const number = std::get_if<double>(&value)) {
      put_number(bytes_, *number);
    } else {
      put_text(std::get<std::string>(value));
    }
  }
}

void AttributeStore::complete() {
  starts_.shrink_to_fit();
  bytes_.shrink_to_fit();
}

void AttributeStore::put_text(const std::string& text) {
  if (const auto uuid = uuid_of(text)) {
    put_kind(bytes_, Packed::uuid);
    put_raw(bytes_, *uuid);
    return;
  }
  if (text.size() <= kMaxRepeatedLength) {
    auto known = text_numbers_.find(text);
    if (known == text_numbers_.end() && texts_.size() < kMaxTexts) {
      known = text_numbers_.emplace(text, texts_.size()).first;
      texts_.push_back(text);
      text_bytes_ += 2 * text.size();
    }
    if (known != text_numbers_.end()) {
      put_kind(bytes_, Packed::repeated);
      return put_count(bytes_, known->second);
    }
  }
  put_kind(bytes_, Packed::text);
  put_count(bytes_, text.size());
  bytes_.insert(bytes_.end(), text.begin(), text.end());
}

Attributes AttributeStore::at(std::size_t number) const {
  const std::uint8_t* from = bytes_.data() + starts_[number];
  const Names& names = schemas_[take_count(from)];
  Attributes attributes;
  for (const auto& name : names) {
    switch (static_cast<Packed>(*from++)) {
      case Packed::integer:
        attributes.set(name, take_integer(from));
        break;
      case Packed::whole:
        attributes.set(name, static_cast<double>(take_integer(from)));
        break;
      case Packed::single:
        attributes.set(name, static_cast<double>(take_raw<float>(from)));
        break;
      case Packed::number:
        attributes.set(name, take_raw<double>(from));
        break;
      case Packed::uuid:
        attributes.set(name, take_uuid(from));
        break;
      case Packed::repeated:
        attributes.set(name, texts_[take_count(from)]);
        break;
      case Packed::text: {
        const auto length = take_count(from);
        attributes.set(name, std::string(reinterpret_cast<const char*>(from), length));
        from += length;
        break;
      }
    }
  }
  return attributes;
}

std::uint64_t AttributeStore::memory_bytes() const {
  std::uint64_t bytes = bytes_.capacity() + starts_.capacity() * sizeof(std::uint64_t);
  bytes += texts_.size() * (2 * sizeof(std::string) + kNodeBytes) + text_bytes_;
  for (const auto& names : schemas_) {
    for (const auto& name : names) bytes += 2 * (sizeof(std::string) + name.capacity());
    bytes += kNodeBytes;
  }
  return bytes;
}

}  // namespace millrace
