#include "tests/support/places.h"

namespace millrace::test {

std::filesystem::path source_dir() { return MILLRACE_SOURCE_DIR; }
std::filesystem::path build_dir() { return MILLRACE_BUILD_DIR; }
std::filesystem::path program() { return MILLRACE_PROGRAM; }

}  // namespace millrace::test
