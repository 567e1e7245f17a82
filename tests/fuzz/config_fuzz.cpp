// Any bytes as a config, and as an override of a small one: every outcome but a plan is an Error of kind config, with
// one line and, unless it is the stage's own, a position.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pipeline/config.h"
#include "pipeline/plan.h"
#include "tests/pipeline/scripted_stages.h"

namespace {

constexpr std::string_view kSmall =
    "[[stage]]\nname = \"a\"\ntype = \"source\"\n[[stage]]\nname = \"z\"\ntype = \"sink\"\npath = \"x\"\nwants = "
    "\"i16\"\n";

void load_and_prepare(std::string_view text, const std::vector<std::string>& overrides) {
  static const millrace::Registry registry = millrace::test::scripted_registry();
  try {
    millrace::prepare(millrace::load_config_text(text, "fuzz.toml", overrides), registry);
  } catch (const millrace::Error& error) {
    // Only the scripted source fails otherwise, on request.
    const bool asked_for = error.stage() != "" && error.kind() == millrace::ErrorKind::run;
    const std::string line = error.what();
    if ((error.kind() != millrace::ErrorKind::config || !error.position().known()) && !asked_for) std::abort();
    if (line.find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  load_and_prepare(text, {});
  load_and_prepare(kSmall, {std::string(text)});
  return 0;
}
