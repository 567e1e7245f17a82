#include "io/pod5_run_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string_view>

namespace millrace::io {
namespace {

/// A text column, and the name that FAST5 has for it where it is another.
struct TextColumn {
  std::string_view name;
  std::string_view in_fast5;
};

constexpr std::array kFirstTexts{TextColumn{"experiment_name", "protocol_group_id"}, TextColumn{"flow_cell_id", ""},
                                 TextColumn{"flow_cell_product_code", ""},
                                 TextColumn{"protocol_name", "exp_script_name"}, TextColumn{"protocol_run_id", ""}};
constexpr std::array kLastTexts{TextColumn{"sequencing_kit", ""},
                                TextColumn{"sequencer_position", "device_id"},
                                TextColumn{"sequencer_position_type", "device_type"},
                                TextColumn{"software", ""},
                                TextColumn{"system_name", "host_product_serial_number"},
                                TextColumn{"system_type", "host_product_code"}};
/// Columns that are no plain texts, or stand between the others.
constexpr std::array<std::string_view, 7> kOtherColumns{"acquisition_id", "acquisition_start_time", "adc_max",
                                                        "adc_min",        "protocol_start_time",    "sample_id",
                                                        "sample_rate"};

/// What FAST5 keeps under context_tags; all else is under tracking_id.
constexpr std::array<std::string_view, 16> kContextTags{"barcoding_enabled",
                                                        "basecall_config_filename",
                                                        "experiment_duration_set",
                                                        "experiment_type",
                                                        "fast5_output_fastq_in_hdf",
                                                        "fast5_raw",
                                                        "fast5_reads_per_folder",
                                                        "fastq_enabled",
                                                        "fastq_reads_per_file",
                                                        "filename",
                                                        "local_basecalling",
                                                        "package",
                                                        "package_version",
                                                        "sample_frequency",
                                                        "selected_speed_bases_per_second",
                                                        "user_filename_input"};

bool is_column(std::string_view name) {
  const auto named = [name](const TextColumn& column) { return column.name == name; };
  return std::any_of(kFirstTexts.begin(), kFirstTexts.end(), named) ||
         std::any_of(kLastTexts.begin(), kLastTexts.end(), named) ||
         std::find(kOtherColumns.begin(), kOtherColumns.end(), name) != kOtherColumns.end();
}

bool is_context_tag(std::string_view name) {
  return std::find(kContextTags.begin(), kContextTags.end(), name) != kContextTags.end();
}

std::string text_of(const RunInfo& info, std::string_view name, std::string_view other_name = "") {
  auto found = info.find(name);
  if (found == info.end()) found = info.find(other_name);
  return found == info.end() ? std::string() : found->second;
}

/// A number of the info that T can hold, else `fallback`.
template <typename T>
T integer_of(const RunInfo& info, std::string_view name, double fallback) {
  const std::string text = text_of(info, name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) value = fallback;
  value = std::nearbyint(value);
  const bool fits = value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  return fits ? static_cast<T>(value) : T{0};
}

ArrowField field(std::string name, ArrowKind kind, std::uint32_t width, bool is_signed = false) {
  ArrowField made;
  made.name = std::move(name);
  made.kind = kind;
  made.width = width;
  made.is_signed = is_signed;
  return made;
}

ArrowField map_field(std::string name) {
  ArrowField entries = field("entries", ArrowKind::structure, 0);
  entries.children = {field("key", ArrowKind::text, 4), field("value", ArrowKind::text, 4)};
  ArrowField map = field(std::move(name), ArrowKind::map, 4);
  map.children = {std::move(entries)};
  return map;
}

std::vector<ArrowField> fields() {
  const auto text = [](std::string_view name) { return field(std::string(name), ArrowKind::text, 4); };
  std::vector<ArrowField> all{text("acquisition_id"), field("acquisition_start_time", ArrowKind::timestamp, 8),
                              field("adc_max", ArrowKind::integer, 2, true),
                              field("adc_min", ArrowKind::integer, 2, true), map_field("context_tags")};
  for (const auto& column : kFirstTexts) all.push_back(text(column.name));
  all.push_back(field("protocol_start_time", ArrowKind::timestamp, 8));
  all.push_back(text("sample_id"));
  all.push_back(field("sample_rate", ArrowKind::integer, 2));
  for (const auto& column : kLastTexts) all.push_back(text(column.name));
  all.push_back(map_field("tracking_id"));
  return all;
}

template <typename T>
void put_one(ArrowBody& body, T value) {
  body.values(std::span<const T>(&value, 1));
}

void put_text(ArrowBody& body, const std::string& value) { body.texts(std::span(&value, 1)); }

/// The facts that `wanted` chooses among those that no column has.
template <typename Wanted>
void put_map(ArrowBody& body, const RunInfo& info, Wanted&& wanted) {
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const auto& [key, value] : info) {
    if (is_column(key) || !wanted(key)) continue;
    keys.push_back(key);
    values.push_back(value);
  }
  const std::array<std::int32_t, 2> offsets{0, static_cast<std::int32_t>(keys.size())};
  body.array(1);
  body.buffer(std::as_bytes(std::span(offsets)));
  body.array(keys.size());
  body.texts(keys);
  body.texts(values);
}

void put_run(ArrowBody& body, const Pod5RunRow& run) {
  const RunInfo& info = run.info;
  put_text(body, run.id);
  put_one(body, start_ms_of(info));
  put_one(body, integer_of<std::int16_t>(info, "adc_max", run.digitisation / 2 - (run.digitisation > 0 ? 1 : 0)));
  put_one(body, integer_of<std::int16_t>(info, "adc_min", -run.digitisation / 2));
  put_map(body, info, is_context_tag);
  for (const auto& column : kFirstTexts) put_text(body, text_of(info, column.name, column.in_fast5));
  put_one(body, milliseconds_of(text_of(info, "protocol_start_time")));
  put_text(body, text_of(info, "sample_id"));
  put_one(body, integer_of<std::uint16_t>(info, "sample_rate", run.sampling_rate));
  for (const auto& column : kLastTexts) put_text(body, text_of(info, column.name, column.in_fast5));
  put_map(body, info, [](const std::string& key) { return !is_context_tag(key); });
}

}  // namespace

std::uint64_t write_pod5_run_table(const std::vector<Pod5RunRow>& runs, const ArrowTableWriter::Metadata& metadata,
                                   const ArrowTableWriter::Append& append) {
  ArrowTableWriter table(fields(), metadata, append);
  ArrowBody body;
  for (const auto& run : runs) {
    body.clear();
    put_run(body, run);
    table.write_batch(1, body);
  }
  return table.finish();
}

std::int64_t milliseconds_of(const std::string& time) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), number);
  if (error == std::errc() && end == time.data() + time.size()) return number;
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (std::sscanf(time.c_str(), "%4d-%2u-%2u%*1[T ]%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) != 6) {
    return 0;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return 0;
  std::int64_t thousandths = 0;
  constexpr std::size_t kUpToSeconds = 19;
  if (time.size() > kUpToSeconds && time[kUpToSeconds] == '.') {
    std::int64_t unit = 100;
    for (std::size_t i = kUpToSeconds + 1; i < time.size() && time[i] >= '0' && time[i] <= '9' && unit > 0; ++i) {
      thousandths += unit * (time[i] - '0');
      unit /= 10;
    }
  }
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((static_cast<std::int64_t>(days) * 24 + hour) * 60 + minute) * 60'000 + second * 1000 + thousandths;
}

std::int64_t start_ms_of(const RunInfo& info) {
  const std::string started = text_of(info, "acquisition_start_time");
  if (!started.empty()) return milliseconds_of(started);
  const std::string in_fast5 = text_of(info, "exp_start_time");
  constexpr std::int64_t kMostSeconds = 10'000'000'000;  // the year 2286; above, it is milliseconds already
  const std::int64_t time = milliseconds_of(in_fast5);
  const bool is_number = in_fast5.find_first_not_of("0123456789") == std::string::npos;
  return is_number && time < kMostSeconds ? 1000 * time : time;
}

}  // namespace millrace::io
