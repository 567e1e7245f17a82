#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/spec.h"

namespace millrace {

/// A config file may have this many bytes; more is taken for a data file named by mistake.
inline constexpr std::size_t kMaxConfigBytes = 256UL * 1024;

/// Reads a config file (TOML). `overrides` are `stage.key=value` or `pipeline.key=value`, applied in order before
/// anything is looked at; the value is TOML when it parses as TOML, else text, and paths in it are relative to the
/// config file like all others. In every text ${NAME} is the environment variable NAME and $$ a dollar sign. Reserved
/// keys are checked and taken out, everything else goes to the stage; nothing is checked across stages.
/// Error (kind config) with file, line and column and, for an unknown key, the nearest known one. An override stands at
/// "<--set stage.key=value>:1:1".
PipelineSpec load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

/// The same from memory; `name` is the file in positions, and its directory the one that relative paths start from.
PipelineSpec load_config_text(std::string_view text, const std::string& name,
                              const std::vector<std::string>& overrides);

}  // namespace millrace
