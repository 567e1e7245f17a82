#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/file_system.h"
#include "io/via.h"

namespace millrace::io {

/// What a person should know before reading with `via` from a file system: settings that cannot do there what they are
/// for. One line each, beginning with "via: ". Pure. `largest_file_bytes`: of those on it.
std::vector<std::string> read_warnings(const ReadVia& via, const FileSystem& facts, std::uint64_t largest_file_bytes);

}  // namespace millrace::io
