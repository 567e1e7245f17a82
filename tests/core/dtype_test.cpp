#include "pipeline/core/dtype.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

class DTypeTable : public testing::TestWithParam<Row> {};

TEST_P(DTypeTable, NameAndSizeAndTheWayBack) {
  const auto& [dtype, name, bytes] = GetParam();
  EXPECT_EQ(name_of(dtype), name);
  EXPECT_EQ(size_of(dtype), bytes);
  EXPECT_EQ(dtype_named(name), dtype);
}

INSTANTIATE_TEST_SUITE_P(All, DTypeTable,
                         testing::Values(Row{DType::u8, "u8", 1}, Row{DType::i8, "i8", 1}, Row{DType::u16, "u16", 2},
                                         Row{DType::i16, "i16", 2}, Row{DType::u32, "u32", 4},
                                         Row{DType::i32, "i32", 4}, Row{DType::u64, "u64", 8},
                                         Row{DType::i64, "i64", 8}, Row{DType::f32, "f32", 4},
                                         Row{DType::f64, "f64", 8}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(DType, UnknownNamesAreNothing) {
  for (const auto* const name : {"", "i", "int16", "I16", "i16 ", "f16"})
    EXPECT_EQ(dtype_named(name), std::nullopt) << name;
}

TEST(DType, ElementTypesMapToTheTypeOfTheirSizeAndKind) {
  EXPECT_EQ(dtype_of<std::byte>(), DType::u8);
  EXPECT_EQ(dtype_of<char>(), DType::u8);
  EXPECT_EQ(dtype_of<const std::int16_t>(), DType::i16);
  EXPECT_EQ(dtype_of<std::uint64_t>(), DType::u64);
  EXPECT_EQ(dtype_of<float>(), DType::f32);
  EXPECT_EQ(size_of(dtype_of<double>()), sizeof(double));
  EXPECT_EQ(size_of(dtype_of<std::int32_t>()), sizeof(std::int32_t));
}

}  // namespace
}  // namespace millrace
