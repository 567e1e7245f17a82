#include "pipeline/differing_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "pipeline/cache_state.h"
#include "pipeline/core/units.h"
#include "pipeline/verdict_words.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using verdict::percent;

/// Differences of the cached fraction and of the wait for cores from here on are worth a line.
constexpr double kCacheDiffers = 0.01;
constexpr double kLoadDiffers = 0.05;

class Facts {
 public:
  void add(const std::string& what, const std::string& first, const std::string& second) {
    if (first != second) facts_.push_back({what, first.empty() ? "-" : first, second.empty() ? "-" : second});
  }
  std::vector<DifferingFact> take() { return std::move(facts_); }

 private:
  std::vector<DifferingFact> facts_;
};

std::string known(std::int64_t value, const char* unit) { return value < 0 ? "" : fmt::format("{}{}", value, unit); }

std::string cache_of(const RunReport& report) {
  std::string text = name_of(cache_state(report));
  if (report.cache.resident_before_fraction >= 0)
    text += fmt::format(" ({} cached)", percent(report.cache.resident_before_fraction));
  return text;
}

bool cache_differs(const RunReport& first, const RunReport& second) {
  return cache_state(first) != cache_state(second) ||
         std::abs(first.cache.resident_before_fraction - second.cache.resident_before_fraction) >= kCacheDiffers;
}

/// Of the time that all threads wanted a core, the share they waited for one: other load, or too few cores.
double wait_for_cores(const RunReport& report) {
  double waited = 0;
  double wanted = 0;
  for (const auto& stage : report.stages) {
    waited += static_cast<double>(stage.busy.run_delay_ns);
    wanted += static_cast<double>(stage.busy.run_delay_ns) + static_cast<double>(stage.busy.on_cpu_ns);
  }
  return wanted > 0 ? waited / wanted : 0;
}

/// Paths of one run that the other has too, then the others in their order: side by side as far as that goes.
std::vector<std::pair<const PathReport*, const PathReport*>> pairs_of(const std::vector<PathReport>& first,
                                                                      const std::vector<PathReport>& second) {
  std::vector<std::pair<const PathReport*, const PathReport*>> pairs;
  std::vector<const PathReport*> alone;
  const auto with_path = [](const std::vector<PathReport>& paths, const std::string& path) -> const PathReport* {
    const auto at = std::find_if(paths.begin(), paths.end(), [&](const PathReport& one) { return one.path == path; });
    return at == paths.end() ? nullptr : &*at;
  };
  for (const auto& path : second)
    if (with_path(first, path.path) == nullptr) alone.push_back(&path);
  std::size_t next = 0;
  for (const auto& path : first) {
    const PathReport* other = with_path(second, path.path);
    if (other == nullptr && next < alone.size()) other = alone[next++];
    if (other != nullptr) pairs.emplace_back(&path, other);
  }
  return pairs;
}

void add_paths(Facts& facts, const RunReport& first, const RunReport& second) {
  for (const auto& [a, b] : pairs_of(first.environment.paths, second.environment.paths)) {
    const std::string of = a->path == b->path ? " of " + a->path : "";
    facts.add("path", a->path, b->path);
    facts.add("file system" + of, a->file_system, b->file_system);
    facts.add("mount options" + of, a->mount_options, b->mount_options);
    facts.add("device" + of, a->device, b->device);
    facts.add("read-ahead" + of, known(a->read_ahead_kb, " kB"), known(b->read_ahead_kb, " kB"));
    facts.add("largest request" + of, known(a->max_sectors_kb, " kB"), known(b->max_sectors_kb, " kB"));
    facts.add("rsize" + of, known(a->rsize_bytes, ""), known(b->rsize_bytes, ""));
    facts.add("wsize" + of, known(a->wsize_bytes, ""), known(b->wsize_bytes, ""));
  }
}

void add_transports(Facts& facts, const RunReport& first, const RunReport& second) {
  for (const auto& a : first.stages)
    for (const auto& b : second.stages)
      if (a.name == b.name && a.io && b.io)
        facts.add("transport of " + a.name, a.io->transport_used, b.io->transport_used);
}

/// Leaves of `json` by their path; stages by their names.
void flatten(const Json& json, const std::string& path, std::vector<std::pair<std::string, std::string>>& out) {
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) flatten(value, below(key), out);
    return;
  }
  const bool of_tables = json.is_array() && !json.empty() &&
                         std::all_of(json.begin(), json.end(), [](const Json& one) { return one.is_object(); });
  if (!of_tables) {
    out.emplace_back(
        path, json.is_string() ? json.get<std::string>() : json.dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto name = json[i].find("name");
    const bool named = path == "stage" && name != json[i].end() && name->is_string();
    flatten(json[i], named ? name->get<std::string>() : fmt::format("{}[{}]", path, i), out);
  }
}

std::vector<std::pair<std::string, std::string>> flat(const std::string& json) {
  std::vector<std::pair<std::string, std::string>> out;
  const Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_object()) flatten(parsed, "", out);
  return out;
}

std::string value_of(const std::vector<std::pair<std::string, std::string>>& config, const std::string& key) {
  const auto at = std::find_if(config.begin(), config.end(), [&](const auto& one) { return one.first == key; });
  return at == config.end() ? "" : at->second.empty() ? "\"\"" : at->second;
}

}  // namespace

std::vector<DifferingFact> differing_surroundings(const RunReport& first, const RunReport& second) {
  Facts facts;
  const Environment& a = first.environment;
  const Environment& b = second.environment;
  facts.add("host", a.host, b.host);
  facts.add("kernel", a.kernel, b.kernel);
  facts.add("cores", fmt::format("{}", a.cpus), fmt::format("{}", b.cpus));
  facts.add("memory", format_bytes(a.memory_bytes), format_bytes(b.memory_bytes));
  facts.add("millrace", a.millrace_version, b.millrace_version);
  add_paths(facts, first, second);
  if (cache_differs(first, second)) facts.add("input in the cache", cache_of(first), cache_of(second));
  const double load_a = wait_for_cores(first);
  const double load_b = wait_for_cores(second);
  if (std::abs(load_a - load_b) >= kLoadDiffers) facts.add("wait for cores", percent(load_a), percent(load_b));
  add_transports(facts, first, second);
  facts.add("workers", fmt::format("{}", first.threads), fmt::format("{}", second.threads));
  facts.add("memory budget", format_bytes(first.memory.budget_bytes), format_bytes(second.memory.budget_bytes));
  return facts.take();
}

std::vector<DifferingFact> differing_config(const std::string& first_json, const std::string& second_json) {
  const auto first = flat(first_json);
  const auto second = flat(second_json);
  Facts facts;
  for (const auto& [key, value] : first) facts.add(key, value_of(first, key), value_of(second, key));
  for (const auto& [key, value] : second)
    if (value_of(first, key).empty()) facts.add(key, "", value_of(second, key));
  return facts.take();
}

}  // namespace millrace
