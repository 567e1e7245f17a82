#pragma once

#include <filesystem>

namespace millrace::test {

/// The source tree that the tests were built from.
std::filesystem::path source_dir();
/// The build that they belong to: `tests/plugins`, `tests/slowfs`.
std::filesystem::path build_dir();
/// The program of that build.
std::filesystem::path program();

}  // namespace millrace::test
