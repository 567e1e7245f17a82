#include "io/arrow_values.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

std::uint64_t load_unsigned(std::span<const std::byte> bytes, std::uint64_t index, std::uint32_t width) {
  switch (width) {
    case 1:
      return load<std::uint8_t>(bytes, index);
    case 2:
      return load<std::uint16_t>(bytes, index);
    case 4:
      return load<std::uint32_t>(bytes, index);
    default:
      return load<std::uint64_t>(bytes, index);
  }
}

std::int64_t load_signed(std::span<const std::byte> bytes, std::uint64_t index, std::uint32_t width) {
  switch (width) {
    case 1:
      return load<std::int8_t>(bytes, index);
    case 2:
      return load<std::int16_t>(bytes, index);
    case 4:
      return load<std::int32_t>(bytes, index);
    default:
      return load<std::int64_t>(bytes, index);
  }
}

struct Integers {
  std::uint32_t width;
  bool is_signed;
};

Integers integers_of(const ArrowField& field, const ArrowArray& array) {
  if (array.is_index) return {field.index_width, field.index_is_signed};
  return {field.width, field.is_signed || field.kind == ArrowKind::timestamp};
}

AttributeValue integer(Integers type, std::span<const std::byte> bytes, std::uint64_t index) {
  if (type.is_signed) return load_signed(bytes, index, type.width);
  const std::uint64_t value = load_unsigned(bytes, index, type.width);
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return static_cast<double>(value);
  return static_cast<std::int64_t>(value);
}

Error not_plain(const ArrowField& field) {
  return Error(fmt::format("the column '{}' is not of the type that is expected", field.name));
}

}  // namespace

bool is_plain(const ArrowField& field) {
  if (field.dictionary) return false;
  switch (field.kind) {
    case ArrowKind::integer:
    case ArrowKind::floating:
    case ArrowKind::boolean:
    case ArrowKind::text:
    case ArrowKind::timestamp:
      return true;
    default:
      return false;
  }
}

std::vector<AttributeValue> arrow_scalars(const ArrowField& field, const ArrowArray& array,
                                          std::span<const std::byte> bytes) {
  if (!array.is_index && (!is_plain(field) || field.kind == ArrowKind::text)) throw not_plain(field);
  std::vector<AttributeValue> values;
  values.reserve(array.length);
  for (std::uint64_t i = 0; i < array.length; ++i) {
    if (!array.is_index && field.kind == ArrowKind::floating) {
      values.emplace_back(field.width == 4 ? static_cast<double>(load<float>(bytes, i)) : load<double>(bytes, i));
    } else if (!array.is_index && field.kind == ArrowKind::boolean) {
      values.emplace_back(std::to_integer<std::int64_t>((bytes[i / 8] >> (i % 8)) & std::byte{1}));
    } else {
      values.push_back(integer(integers_of(field, array), bytes, i));
    }
  }
  return values;
}

std::vector<AttributeValue> arrow_texts(std::span<const std::uint64_t> offsets, std::span<const std::byte> data) {
  std::vector<AttributeValue> texts;
  texts.reserve(offsets.size() - 1);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto text = data.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    texts.emplace_back(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  }
  return texts;
}

std::vector<std::uint64_t> arrow_unsigned(const ArrowField& field, const ArrowArray& array,
                                          std::span<const std::byte> bytes) {
  if (!array.is_index && field.kind != ArrowKind::integer) throw not_plain(field);
  const Integers type = integers_of(field, array);
  std::vector<std::uint64_t> values;
  values.reserve(array.length);
  for (std::uint64_t i = 0; i < array.length; ++i) {
    if (type.is_signed && load_signed(bytes, i, type.width) < 0) {
      throw Error(fmt::format("the column '{}' has the value {}", field.name, load_signed(bytes, i, type.width)));
    }
    values.push_back(load_unsigned(bytes, i, type.width));
  }
  return values;
}

std::vector<std::uint64_t> arrow_offsets(const ArrowField& field, const ArrowArray& array,
                                         std::span<const std::byte> bytes, std::uint64_t limit) {
  if (array.length == 0) return {0};
  std::vector<std::uint64_t> offsets;
  offsets.reserve(array.length + 1);
  for (std::uint64_t i = 0; i <= array.length; ++i) {
    const std::uint64_t offset = load_unsigned(bytes, i, field.width);
    if (offset > limit || (i != 0 && offset < offsets.back())) {
      throw Error(fmt::format("the column '{}' has values that lie outside their place", field.name));
    }
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace millrace::io
