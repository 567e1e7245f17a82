#pragma once

#include <string>
#include <vector>

namespace millrace::apps {

/// Runs the program with these arguments (argv, the program's name first) and gives its exit code (exit_code.h).
/// Whatever goes wrong is told in one line on standard error. Throws nothing.
int run_command_line(const std::vector<std::string>& arguments) noexcept;

}  // namespace millrace::apps
