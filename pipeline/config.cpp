#include "pipeline/config.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "pipeline/config_value.h"
#include "pipeline/core/registry.h"
#include "pipeline/experiment_table.h"

namespace millrace {
namespace {

void refuse_unknown_keys(const Options& options, const std::string& where) {
  const auto unread = options.unread();
  if (unread.empty()) return;
  const auto& [key, position] = unread.front();
  // Tables inside each other share one memory: only the keys beside the unknown one can be meant.
  const auto table_of = [](const std::string& dotted) { return dotted.substr(0, dotted.rfind('.') + 1); };
  std::vector<std::string> known;
  for (const auto& description : options.described()) {
    if (table_of(description.key) == table_of(key)) known.push_back(description.key);
  }
  const std::string close = nearest(key, known);
  const std::string hint =
      close.empty() ? fmt::format("it has: {}", fmt::join(known, " ")) : fmt::format("did you mean '{}'?", close);
  throw config_error(fmt::format("{} has no key '{}'; {}", where, key, hint), position);
}

std::map<std::string, SourcePosition> positions_of(const ConfigValue::Table& table) {
  std::map<std::string, SourcePosition> result;
  for (const auto& entry : table) result.emplace(entry.key, entry.value.position);
  return result;
}

void read_pipeline(const ConfigValue& value, PipelineSpec& spec) {
  if (value.list() != nullptr) throw config_error("write [pipeline], with one bracket", value.position);
  if (value.table() == nullptr) throw config_error("'pipeline' must be a table: write [pipeline]", value.position);
  const Options options = to_options(*value.table(), {}, value.position);
  spec.name = options.get<std::string>("name", spec.name);
  spec.threads = options.get<std::uint32_t>("threads", spec.threads);
  spec.memory = options.get<Bytes>("memory", spec.memory);
  spec.stall_timeout = options.get<Duration>("stall_timeout", spec.stall_timeout);
  spec.loss_budget_chunks = options.get<std::uint64_t>("loss_budget", spec.loss_budget_chunks);
  spec.keys = positions_of(*value.table());
  refuse_unknown_keys(options, "[pipeline]");
  if (spec.name.empty()) throw config_error("'name' must not be empty", spec.keys.at("name"));
}

/// Names appear in overrides (`stage.key=value`), reports and file names.
void check_name(const std::string& name, const SourcePosition& position) {
  const auto allowed = [](char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '_' || character == '-';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), allowed)) {
    throw config_error(fmt::format("a stage's name is made of letters, digits, '_' and '-', not \"{}\"", name),
                       position);
  }
  if (name == "pipeline") throw config_error("a stage cannot be called 'pipeline'", position);
}

WhenFull read_when_full(const Options& options) {
  const auto text = options.get<std::string>("when_full", name_of(WhenFull::block));
  const std::array<WhenFull, 3> policies{WhenFull::block, WhenFull::drop_newest, WhenFull::drop_oldest};
  std::vector<std::string> names;
  for (const WhenFull policy : policies) {
    if (text == name_of(policy)) return policy;
    names.emplace_back(name_of(policy));
  }
  const std::string close = nearest(text, names);
  throw options.error_at(
      "when_full", close.empty() ? fmt::format("'when_full' is one of {}, not \"{}\"", fmt::join(names, " "), text)
                                 : fmt::format("there is no when_full = \"{}\"; did you mean \"{}\"?", text, close));
}

LinkSpec read_link(const Options& options) {
  LinkSpec link;
  link.when_full = read_when_full(options);
  const Options table = options.table("link");
  link.chunks = table.get<std::uint64_t>("chunks", link.chunks);
  link.bytes = table.get<Bytes>("bytes", link.bytes);
  refuse_unknown_keys(table, "'link'");
  return link;
}

void read_from(const Options& options, const ConfigValue* value, StageSpec& stage) {
  stage.from = options.get<std::vector<std::string>>("from", {});
  if (value == nullptr) return;
  if (stage.from.empty()) {
    throw config_error("'from' names no stage; leave it out to read from the stage before", value->position);
  }
  for (std::size_t i = 0; i < stage.from.size(); ++i) {
    stage.from_positions.push_back(value->list() == nullptr ? value->position : value->list()->at(i).position);
  }
}

StageSpec read_stage(const ConfigValue& value, const std::filesystem::path& directory) {
  if (value.table() == nullptr) throw config_error("a stage must be a table: write [[stage]]", value.position);
  ConfigValue::Table reserved;
  ConfigValue::Table own;
  const auto& names = reserved_stage_keys();
  for (const auto& entry : *value.table()) {
    const bool ours = std::find(names.begin(), names.end(), entry.key) != names.end();
    (ours ? reserved : own).push_back(entry);
  }
  StageSpec stage;
  stage.position = value.position;
  stage.keys = positions_of(reserved);
  const Options options = to_options(reserved, directory, value.position);
  stage.name = options.require<std::string>("name");
  check_name(stage.name, stage.at("name"));
  stage.type = options.require<std::string>("type");
  stage.slots = options.get<std::uint32_t>("slots", stage.slots);
  stage.link = read_link(options);
  read_from(options, find(reserved, "from"), stage);
  stage.ordered = options.get<bool>("ordered", stage.ordered);
  stage.options = to_options(own, directory, value.position);
  if (const ConfigValue* const via = find(own, "via"); via != nullptr && via->table() == nullptr) {
    throw config_error("'via' must be a table: via = { transport = \"...\" }", via->position);
  }
  return stage;
}

void read_stages(const ConfigValue& value, const std::filesystem::path& directory, PipelineSpec& spec) {
  if (value.list() == nullptr) throw config_error("write [[stage]], with two brackets", value.position);
  for (const auto& item : *value.list()) spec.stages.push_back(read_stage(item, directory));
}

/// The whole file. Also for pipes (`millrace run <(...)`), so the size is not asked first.
std::string read_whole(const std::filesystem::path& file) {
  const auto failure = [&file](const char* what, int error_number) {
    return system_error(what, error_number).of_kind(ErrorKind::config).at_path(file);
  };
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw failure("cannot open the config", errno);
  std::string text;
  std::array<char, 16384> block{};
  ssize_t got = 0;
  while (text.size() <= kMaxConfigBytes) {
    got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  const int error_number = errno;
  ::close(descriptor);
  if (got < 0) throw failure("cannot read the config", error_number);
  if (text.size() > kMaxConfigBytes) {
    throw config_error(fmt::format("this has more than {}, so it is no config", format_bytes(kMaxConfigBytes)),
                       {file.string(), 1, 1});
  }
  return text;
}

}  // namespace

PipelineSpec load_config_text(std::string_view text, const std::string& name,
                              const std::vector<std::string>& overrides) {
  ConfigValue::Table config = parse_toml(text, name);
  for (const auto& change : overrides) apply_override(config, change);

  PipelineSpec spec;
  // A run has nothing to do with it but to refuse its mistakes: it is not in the report.
  if (const ConfigValue* const experiment = find(config, "experiment")) {
    read_experiment(*experiment);
    std::erase_if(config, [](const ConfigEntry& entry) { return entry.key == "experiment"; });
  }
  expand_variables(config);
  spec.file = name;
  spec.json = to_json_text(config);
  for (const auto& [key, value] : config) {
    if (key == "pipeline") {
      read_pipeline(value, spec);
    } else if (key == "stage") {
      read_stages(value, spec.file.parent_path(), spec);
    } else {
      const std::string close = nearest(key, {"pipeline", "stage", "experiment"});
      throw config_error(fmt::format("a config has [pipeline], [[stage]] and [experiment], not '{}'{}", key,
                                     close.empty() ? "" : fmt::format("; did you mean '{}'?", close)),
                         value.position);
    }
  }
  return spec;
}

PipelineSpec load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  return load_config_text(read_whole(file), file.string(), overrides);
}

std::optional<ExperimentTable> load_experiment_text(std::string_view text, const std::string& name) {
  const ConfigValue::Table config = parse_toml(text, name);
  const ConfigValue* const experiment = find(config, "experiment");
  if (experiment == nullptr) return std::nullopt;
  return read_experiment(*experiment);
}

std::optional<ExperimentTable> load_experiment(const std::filesystem::path& file) {
  return load_experiment_text(read_whole(file), file.string());
}

}  // namespace millrace
