#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::apps {

/// SHA-256 as 64 hexadecimal digits, lower case.
std::string sha256_of(std::string_view text);

/// The same of a file's bytes. Error with the path when it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

/// Forces everything to the devices that the file systems of these files have not written yet, so that the next run
/// does not share them with what this one left behind. Error with the path.
void sync_file_systems_of(const std::vector<std::filesystem::path>& files);

}  // namespace millrace::apps
