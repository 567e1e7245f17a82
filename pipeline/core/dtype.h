#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace millrace {

/// Element type of a chunk. All values little-endian in memory (x86-64, AArch64).
enum class DType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };

/// Bytes of one element.
std::size_t size_of(DType dtype);

/// "i16", "f32", ...: the spelling used in configs and reports.
std::string_view name_of(DType dtype);

/// The reverse of name_of; nothing for an unknown name.
std::optional<DType> dtype_named(std::string_view name);

/// The DType of a C++ element type; std::byte counts as u8.
template <typename T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, std::uint8_t> || std::is_same_v<U, std::byte> || std::is_same_v<U, char>) {
    return DType::u8;
  } else if constexpr (std::is_same_v<U, std::int8_t>) {
    return DType::i8;
  } else if constexpr (std::is_same_v<U, std::uint16_t>) {
    return DType::u16;
  } else if constexpr (std::is_same_v<U, std::int16_t>) {
    return DType::i16;
  } else if constexpr (std::is_same_v<U, std::uint32_t>) {
    return DType::u32;
  } else if constexpr (std::is_same_v<U, std::int32_t>) {
    return DType::i32;
  } else if constexpr (std::is_same_v<U, std::uint64_t>) {
    return DType::u64;
  } else if constexpr (std::is_same_v<U, std::int64_t>) {
    return DType::i64;
  } else if constexpr (std::is_same_v<U, float>) {
    return DType::f32;
  } else {
    static_assert(std::is_same_v<U, double>, "no millrace DType has this element type");
    return DType::f64;
  }
}

}  // namespace millrace
