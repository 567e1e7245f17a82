#include "stages/detect_events.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

struct Preset {
  const char* name = nullptr;
  EventSettings settings;
};

/// The parameter sets of UNCALLED4.
constexpr std::array<Preset, 3> kPresets{{
    {"r9_450bps", {.window_short = 3, .window_long = 6, .threshold_short = 1.4F, .threshold_long = 9.0F}},
    {"rna_130bps", {.window_short = 5, .window_long = 10, .threshold_short = 2.1F, .threshold_long = 13.5F}},
    {"rna_70bps", {.window_short = 7, .window_long = 12, .threshold_short = 2.8F, .threshold_long = 18.0F}},
}};

EventSettings preset(const Options& options) {
  const auto wanted =
      options.get<std::string>("preset", kPresets[0].name, "numbers to start from: r9_450bps, rna_130bps or rna_70bps");
  std::vector<std::string> names;
  for (const auto& [name, settings] : kPresets) {
    if (wanted == name) return settings;
    names.emplace_back(name);
  }
  const std::string close = nearest(wanted, names);
  throw options.error_at("preset", "there is no preset '" + wanted + "'; " +
                                       (close.empty() ? "there are r9_450bps, rna_130bps and rna_70bps"
                                                      : "did you mean '" + close + "'?"));
}

void require_not_negative(const Options& options, const char* key, float value) {
  if (value < 0) throw options.error_at(key, "'" + std::string(key) + "' must not be negative");
}

EventSettings settings_from(const Options& options) {
  EventSettings settings = preset(options);
  settings.window_short = options.get<std::uint32_t>("window_short", settings.window_short, "samples, from 2");
  settings.window_long =
      options.get<std::uint32_t>("window_long", settings.window_long, "samples, above window_short, up to 1024");
  settings.threshold_short =
      options.get<float>("threshold_short", settings.threshold_short, "least t of a short-window peak");
  settings.threshold_long =
      options.get<float>("threshold_long", settings.threshold_long, "least t of a long-window peak");
  settings.peak_height =
      options.get<float>("peak_height", settings.peak_height, "how far t rises to and falls from a peak");
  if (settings.window_short < 2) throw options.error_at("window_short", "'window_short' must be at least 2");
  if (settings.window_long <= settings.window_short) {
    const char* const key = options.has("window_long") ? "window_long" : "window_short";
    throw options.error_at(key, "'window_long' (" + std::to_string(settings.window_long) +
                                    ") must be above 'window_short' (" + std::to_string(settings.window_short) + ")");
  }
  if (settings.window_long > EventDetector::kMaxWindow) {
    throw options.error_at("window_long", "'window_long' must be at most " + std::to_string(EventDetector::kMaxWindow));
  }
  require_not_negative(options, "threshold_short", settings.threshold_short);
  require_not_negative(options, "threshold_long", settings.threshold_long);
  require_not_negative(options, "peak_height", settings.peak_height);
  return settings;
}

}  // namespace

DetectEvents::DetectEvents(const Options& options) : detector_(settings_from(options)) {}

ChunkType DetectEvents::prepare(const ChunkType& input) {
  input.require("signal");
  if (input.dtype != DType::i16 && input.dtype != DType::f32) {
    throw config_error("needs i16 or f32 elements, but its input is " + input.text());
  }
  constexpr std::uint64_t kEventBytes = EventDetector::kFieldsPerEvent * sizeof(float);
  return {DType::f32, "events", detector_.max_events(input.max_bytes / size_of(input.dtype)) * kEventBytes};
}

std::optional<Chunk> DetectEvents::process(Chunk chunk) {
  constexpr std::size_t kEventBytes = EventDetector::kFieldsPerEvent * sizeof(float);
  Buffer result = loan(detector_.max_events(chunk.elements()) * kEventBytes);
  const std::span<float> events(reinterpret_cast<float*>(result.writable().data()), result.size() / sizeof(float));
  const std::uint64_t count = chunk.dtype() == DType::i16 ? detector_.detect(chunk.view<std::int16_t>(), events)
                                                          : detector_.detect(chunk.view<float>(), events);
  result.resize(count * kEventBytes);
  return chunk.with(std::move(result), DType::f32, {count, EventDetector::kFieldsPerEvent});
}

}  // namespace millrace
