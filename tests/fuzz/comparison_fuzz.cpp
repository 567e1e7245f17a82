#include <cstddef>
#include <cstdint>
#include <string>

#include "pipeline/core/error.h"
#include "pipeline/experiment/comparison_json.h"
#include "pipeline/experiment/comparison_text.h"

/// Whatever is accepted as a stored comparison can be worked out again, printed and written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const millrace::ComparisonReport report = millrace::comparison_from_json(std::string(data, data + size));
    millrace::to_text(report);
    millrace::comparison_from_json(millrace::to_json(report));
  } catch (const millrace::Error&) {
    return 0;
  }
  return 0;
}
