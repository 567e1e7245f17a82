#include "stages/detect_events.h"

#include <string>
#include <utility>

#include "stages/event_presets.h"

namespace millrace {
namespace {

void require_not_negative(const Options& options, const char* key, float value) {
  if (value < 0) throw options.error_at(key, "'" + std::string(key) + "' must not be negative");
}

EventSettings settings_from(const Options& options) {
  EventSettings settings = event_preset(options).settings;
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
