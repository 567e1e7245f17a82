#include "apps/version.h"

#include <fmt/format.h>

#include "pipeline/core/abi.h"

namespace millrace::apps {
namespace {

const char* build_kind() {
#if defined(__SANITIZE_ADDRESS__)
  return "with AddressSanitizer";
#elif defined(__SANITIZE_THREAD__)
  return "with ThreadSanitizer";
#elif defined(NDEBUG)
  return "optimised";
#else
  return "with assertions";
#endif
}

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace

std::string version() { return MILLRACE_VERSION; }

std::string version_text() {
  return fmt::format(
      "millrace {}\n"
      "built:      {} ({})\n"
      "plugin ABI: {}\n"
      "transports: buffered\n"
      "formats:    raw, FAST5 (deflate, VBZ)\n",
      version(), compiler(), build_kind(), millrace_abi_tag);
}

}  // namespace millrace::apps
