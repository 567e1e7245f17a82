#include "pipeline/core/dtype.h"

#include <array>

namespace millrace {
namespace {

struct Row {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<Row, 10> kTypes{{{"u8", 1},
                                      {"i8", 1},
                                      {"u16", 2},
                                      {"i16", 2},
                                      {"u32", 4},
                                      {"i32", 4},
                                      {"u64", 8},
                                      {"i64", 8},
                                      {"f32", 4},
                                      {"f64", 8}}};

}  // namespace

std::size_t size_of(DType dtype) { return kTypes.at(static_cast<std::size_t>(dtype)).bytes; }

std::string_view name_of(DType dtype) { return kTypes.at(static_cast<std::size_t>(dtype)).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace millrace
