#include <cstddef>
#include <cstdint>
#include <string>

#include "pipeline/complete_report.h"
#include "pipeline/core/error.h"
#include "pipeline/replay/what_if.h"
#include "pipeline/report_json.h"
#include "pipeline/report_text.h"

/// Whatever is accepted as a stored report can be judged, printed and written again, and replayed when it has a record.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try {
    millrace::RunReport report = millrace::report_from_json(text);
    millrace::complete_report(report);
    millrace::to_text(report, {true});
    millrace::report_from_json(millrace::to_json(report));
    millrace::calibrate(report);
  } catch (const millrace::Error&) {
    return 0;
  }
  return 0;
}
