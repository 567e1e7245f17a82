// Tables of k-mer levels of any content. Input: the whole file.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "pipeline/core/error.h"
#include "stages/pore_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const millrace::PoreModel model = millrace::parse_pore_model(in);
    if (model.levels.size() != std::size_t{1} << (2 * model.k)) std::abort();
  } catch (const millrace::Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
