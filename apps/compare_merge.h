#pragma once

#include <filesystem>
#include <vector>

namespace millrace::apps {

/// Puts together the reports of one experiment on several machines and prints what of the differences is the machine
/// and what the setting. As the functions of commands.h. Error (kind config) for reports of different experiments.
int merge_command(const std::vector<std::filesystem::path>& reports);

}  // namespace millrace::apps
