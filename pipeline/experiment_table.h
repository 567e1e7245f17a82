#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/core/error.h"
#include "pipeline/core/units.h"

namespace millrace {

struct ConfigValue;

/// One value that a key of the pipeline takes in an experiment.
struct VariedValue {
  std::string text;   ///< as in --set KEY=text
  std::string shown;  ///< in labels: text without its quotes
};

/// A key of the pipeline, `stage.key` or `pipeline.key`, and the values it takes in turn.
struct VariedKey {
  std::string key;
  std::vector<VariedValue> values;
  SourcePosition position;
};

/// One arm with all its overrides, as the table [[experiment.arm]] gives it.
struct ExplicitArm {
  std::string label;
  std::vector<std::string> overrides;
  SourcePosition position;
};

/// The table [experiment] of a config: what `millrace compare` does with the pipeline of the same file. Each value is
/// checked by itself; what the command line adds and what must fit together is for pipeline/experiment.
struct ExperimentTable {
  std::vector<VariedKey> vary;    ///< in alphabetical order of the keys; not together with `arms`
  std::vector<ExplicitArm> arms;  ///< in the order of the file
  std::optional<std::uint32_t> repeats;
  std::optional<std::string> cache;  ///< "cold", "warm" or "as-is"
  std::optional<std::uint64_t> seed;
  std::optional<double> detect;  ///< 0.05 = 5 %
  std::optional<std::uint32_t> max_repeats;
  std::optional<Duration> max_time;
  std::optional<VariedKey> rotate;
  SourcePosition position;
  std::map<std::string, SourcePosition> keys;  ///< where each key stands

  const SourcePosition& at(const std::string& key) const {
    const auto found = keys.find(key);
    return found == keys.end() ? position : found->second;
  }
};

/// Reads the value of the key `experiment`. ${NAME} is left as it is in what becomes an override, for overrides are
/// expanded where they are applied. Error (kind config) with the position and, for an unknown key, the nearest one.
ExperimentTable read_experiment(const ConfigValue& value);

/// The [experiment] of a config file, which load_config() checks and leaves out; nothing when it has none. Errors as of
/// load_config().
std::optional<ExperimentTable> load_experiment(const std::filesystem::path& file);

/// The same from memory; `name` is the file in positions.
std::optional<ExperimentTable> load_experiment_text(std::string_view text, const std::string& name);

/// "5%", "5 %" or "0.05" as 0.05. Nothing when it is neither, or not between 0 and 1 (exclusive).
std::optional<double> parse_share(const std::string& text);

/// "KEY=a,b,c" as a command line gives it: commas inside quotes, brackets and braces do not part. Error (kind config)
/// naming `option` when there is no key or no value.
VariedKey parse_varied(const std::string& text, const std::string& option);

}  // namespace millrace
