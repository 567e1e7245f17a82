#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pipeline/core/error.h"
#include "pipeline/core/options.h"

namespace millrace {

struct ConfigEntry;

/// One value of a config file with its place, free of the parser's types.
struct ConfigValue {
  using List = std::vector<ConfigValue>;
  using Table = std::vector<ConfigEntry>;

  std::variant<bool, std::int64_t, double, std::string, List, Table> value;
  SourcePosition position;  ///< of its key; of the value itself inside a list

  List* list() { return std::get_if<List>(&value); }
  Table* table() { return std::get_if<Table>(&value); }
  const List* list() const { return std::get_if<List>(&value); }
  const Table* table() const { return std::get_if<Table>(&value); }
};

struct ConfigEntry {
  std::string key;
  ConfigValue value;
};

/// The value of `key`, or null.
ConfigValue* find(ConfigValue::Table& table, std::string_view key);
const ConfigValue* find(const ConfigValue::Table& table, std::string_view key);

/// Parses TOML; `file` names it in positions. Error (kind config) with the position of the first mistake; also for
/// dates and times, which no option takes, and for keys nested absurdly deep.
ConfigValue::Table parse_toml(std::string_view text, const std::string& file);

/// Replaces ${NAME} in every text by the environment variable NAME, and $$ by a dollar sign. Error (kind config, at
/// the text) when a variable is not set, or for a dollar sign that is neither.
void expand_variables(ConfigValue::Table& table);

/// Applies one `stage.key=value` or `pipeline.key=value` of a command line (deeper keys: `stage.via.advice=none`). The
/// value is TOML when it parses as TOML, else text. Values set this way have "<--set stage.key=value>" for their file.
/// Error (kind config) with the nearest name for a stage that does not exist.
void apply_override(ConfigValue::Table& config, const std::string& override_text);

/// The table as what a stage is constructed from. Error (kind config) for a list that holds anything but text.
Options to_options(const ConfigValue::Table& table, const std::filesystem::path& directory,
                   const SourcePosition& position);

/// The table as one JSON object.
std::string to_json_text(const ConfigValue::Table& table);

}  // namespace millrace
