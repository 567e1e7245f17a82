#pragma once

#include <filesystem>

#include "pipeline/core/registry.h"

namespace millrace {

/// Adds the stage types of a plugin to `registry`. A plugin is a shared object with one C symbol,
/// `millrace_register(millrace::Registry&)`, and the ABI tag that stage.h puts into it; both are looked up, and the tag
/// compared with this program's (pipeline/core/abi.h), before anything in it is called. (The static initialisers of the
/// shared object run before that; stages need none.)
///
/// `path` is a file, relative to the working directory; no library search path is consulted. Entry::from of the new
/// types is the path as given. The shared object stays loaded to the end of the process, because its stages' code does.
///
/// Throws Error (kind config, with the path) when the file is missing or no shared object, a symbol that it needs is
/// nowhere, the tag is missing or another, there is no millrace_register or it throws, it registers nothing or a type
/// that is taken. Then the registry is as it was.
///
/// One thread at a time.
void load_plugin(const std::filesystem::path& path, Registry& registry);

}  // namespace millrace
