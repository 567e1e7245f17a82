#include "stages/dtype_option.h"

namespace millrace {

DType dtype_option(const Options& options, const std::string& help) {
  const auto name = options.get<std::string>("dtype", "u8", help);
  const auto dtype = dtype_named(name);
  if (!dtype) {
    throw options.error_at("dtype", "there is no dtype '" + name + "', only u8 i8 u16 i16 u32 i32 u64 i64 f32 f64");
  }
  return *dtype;
}

}  // namespace millrace
