// SLOW5 text files of any content. Input: the whole file.

#include "tests/fuzz/slow5_whole_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::test::read_slow5_file(data, size);
  return 0;
}
