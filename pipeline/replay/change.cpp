#include "pipeline/replay/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "pipeline/core/error.h"
#include "pipeline/core/registry.h"
#include "pipeline/core/units.h"

namespace millrace {
namespace {

using What = Change::What;

constexpr std::uint64_t kMaxSlots = 1024;
constexpr std::uint64_t kMaxLinkChunks = 65536;
/// Beyond these a factor says nothing about a machine any more.
constexpr double kMaxTimes = 100;
constexpr double kMinTimes = 0.01;

struct Key {
  const char* name;
  What what;
  std::uint64_t most;  ///< 0 = a factor
};
constexpr std::array<Key, 6> kStageKeys{{{"slots", What::slots, kMaxSlots},
                                         {"link.chunks", What::link_chunks, kMaxLinkChunks},
                                         {"link.bytes", What::link_bytes, 1ULL << 50},
                                         {"rate", What::rate, 0},
                                         {"cpu", What::cpu, 0},
                                         {"wait", What::wait, 0}}};

constexpr const char* kForm =
    "write STAGE.slots=N, STAGE.link.chunks=N, STAGE.link.bytes=SIZE, STAGE.rate=2x, STAGE.cpu=2x, STAGE.wait=2x, "
    "pipeline.threads=N or cores=N";

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

Error bad_change(const std::string& text, const std::string& what) {
  return config_error(fmt::format("--what-if {}: {}", text, what));
}

std::uint64_t number_of(const std::string& text, const std::string& value, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failed != std::errc{} || end != value.data() + value.size() || number < 1 || number > most)
    throw bad_change(text, fmt::format("a number from 1 to {}, not '{}'", most, value));
  return number;
}

double times_of(const std::string& text, const std::string& value) {
  double times = 0;
  const char* const stop = value.data() + value.size();
  const auto [end, failed] = std::from_chars(value.data(), stop, times);
  const bool whole = failed == std::errc{} && std::string_view(end, static_cast<std::size_t>(stop - end)) == "x";
  if (!whole || !(times >= kMinTimes && times <= kMaxTimes))
    throw bad_change(text, fmt::format("how many times as fast, {}x to {}x, not '{}'", kMinTimes, kMaxTimes, value));
  return times;
}

Change parse_change(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw bad_change(text, kForm);
  const std::string key = trimmed(std::string_view(text).substr(0, equals));
  const std::string value = trimmed(std::string_view(text).substr(equals + 1));
  if (key == "cores") return {What::cores, "", number_of(text, value, kMaxSlots), 1};
  if (key == "pipeline.threads") return {What::threads, "", number_of(text, value, kMaxSlots), 1};
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos || dot == 0) throw bad_change(text, kForm);
  const std::string stage = key.substr(0, dot);
  const std::string name = key.substr(dot + 1);
  const auto* const found =
      std::find_if(kStageKeys.begin(), kStageKeys.end(), [&name](const Key& known) { return name == known.name; });
  if (stage == "pipeline" || found == kStageKeys.end()) throw bad_change(text, kForm);
  Change change{found->what, stage, 0, 1};
  if (found->most == 0) {
    change.times = times_of(text, value);
  } else if (change.what == What::link_bytes) {
    const auto bytes = parse_bytes(value);
    if (!bytes || bytes->count < 1 || bytes->count > found->most)
      throw bad_change(text, fmt::format("a size with its unit, like 64MiB, not '{}'", value));
    change.number = bytes->count;
  } else {
    change.number = number_of(text, value, found->most);
  }
  return change;
}

RecordedStage& stage_named(RecordedRun& run, const Change& change) {
  std::vector<std::string> names;
  for (RecordedStage& stage : run.stages) {
    if (stage.name == change.stage) return stage;
    names.push_back(stage.name);
  }
  const std::string close = nearest(change.stage, names);
  throw bad_change(text_of(change), fmt::format("there is no stage '{}'{}", change.stage,
                                                close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
}

void set_slots(RecordedStage& stage, const Change& change) {
  if (change.number > 1 && !stage.parallel)
    throw bad_change(text_of(change), fmt::format("'{}' ({}) works on one chunk at a time: it can have one slot only",
                                                  stage.name, stage.type));
  stage.slots = static_cast<std::uint32_t>(change.number);
}

void set_link(RecordedRun& run, const RecordedStage& stage, const Change& change) {
  if (stage.inputs.empty())
    throw bad_change(text_of(change), fmt::format("'{}' is a source: there is no link into it", stage.name));
  for (const std::size_t link : stage.inputs)
    (change.what == What::link_chunks ? run.links[link].bounds.chunks : run.links[link].bounds.bytes) = change.number;
}

std::string factor_text(double times) { return fmt::format("{:g}x", times); }

}  // namespace

std::string text_of(const Change& change) {
  switch (change.what) {
    case What::threads:
      return fmt::format("pipeline.threads={}", change.number);
    case What::cores:
      return fmt::format("cores={}", change.number);
    case What::link_bytes:
      return fmt::format("{}.link.bytes={}", change.stage, spell_bytes({change.number}));
    default:
      break;
  }
  const auto* const key =
      std::find_if(kStageKeys.begin(), kStageKeys.end(), [&](const Key& known) { return known.what == change.what; });
  return fmt::format("{}.{}={}", change.stage, key->name,
                     key->most == 0 ? factor_text(change.times) : std::to_string(change.number));
}

std::string text_of(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) text += (text.empty() ? "" : ",") + text_of(change);
  return text;
}

std::vector<Change> parse_changes(const std::string& text) {
  std::vector<Change> changes;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string part = trimmed(std::string_view(text).substr(from, comma - from));
    if (part.empty()) throw config_error(fmt::format("--what-if '{}': {}", text, kForm));
    const Change change = parse_change(part);
    for (const Change& other : changes)
      if (other.what == change.what && other.stage == change.stage)
        throw bad_change(part, "this is given twice; --what-if may be repeated for another scenario");
    changes.push_back(change);
    from = comma + 1;
  }
  return changes;
}

void apply(RecordedRun& run, const Change& change) {
  if (change.what == What::threads) {
    run.threads = static_cast<std::uint32_t>(change.number);
    return;
  }
  if (change.what == What::cores) {
    run.cores = static_cast<std::uint32_t>(change.number);
    return;
  }
  RecordedStage& stage = stage_named(run, change);
  switch (change.what) {
    case What::slots:
      set_slots(stage, change);
      break;
    case What::link_chunks:
    case What::link_bytes:
      set_link(run, stage, change);
      break;
    case What::rate:
      stage.cpu_factor /= change.times;
      stage.wait_factor /= change.times;
      break;
    case What::cpu:
      stage.cpu_factor /= change.times;
      break;
    default:
      stage.wait_factor /= change.times;
  }
}

}  // namespace millrace
