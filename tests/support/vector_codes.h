#pragma once

#include <vector>

#include "io/vector_code.h"

namespace millrace::test {

/// Those that this machine can run.
inline std::vector<io::VectorCode> vector_codes() {
  std::vector<io::VectorCode> codes;
  for (const auto code : {io::VectorCode::plain, io::VectorCode::ssse3, io::VectorCode::avx2}) {
    if (code <= io::fastest_vector_code()) codes.push_back(code);
  }
  return codes;
}

}  // namespace millrace::test
