#include "io/pod5_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "io/arrow_values.h"
#include "io/run_info.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::size_t kMaxTextLength = 1024;
constexpr std::size_t kMaxFacts = 200;
constexpr std::string_view kId = "acquisition_id";

std::string text_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::get<std::string>(value);
}

/// Facts that are absurdly long or many are left out: every read of the run carries them.
void put(RunInfo& info, std::string name, std::string value) {
  if (info.size() >= kMaxFacts || name.size() > kMaxTextLength || value.size() > kMaxTextLength) return;
  info.try_emplace(std::move(name), std::move(value));
}

/// What the map `array` says in each row.
void put_map(const ArrowFile& table, const ArrowBatch& batch, const ArrowField& field, const ArrowArray& array,
             std::vector<RunInfo>& rows) {
  const ArrowField& entry = field.children.front();
  if (entry.kind != ArrowKind::structure || entry.children.size() != 2 || !is_plain(entry.children[0]) ||
      !is_plain(entry.children[1])) {
    return;
  }
  const auto offsets = table.offsets(batch, field, array);
  const ArrowArray& entries = array.children.front();
  const auto keys = table.values(batch, entry.children[0], entries.children[0]);
  const auto values = table.values(batch, entry.children[1], entries.children[1]);
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    for (std::uint64_t i = offsets[row]; i < offsets[row + 1]; ++i)
      put(rows[row], text_of(keys[i]), text_of(values[i]));
  }
}

std::optional<double> number(const RunInfo& info, std::string_view name) {
  const auto found = info.find(name);
  if (found == info.end()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  return end == found->second.c_str() || *end != '\0' ? std::nullopt : std::optional(value);
}

Pod5Run run_of(const RunInfo& info) {
  Pod5Run run;
  const auto id = info.find(kId);
  if (id != info.end()) run.id = id->second;
  run.info = io::text_of(info);
  run.sampling_rate = number(info, "sample_rate");
  const auto low = number(info, "adc_min");
  const auto high = number(info, "adc_max");
  if (low && high && *high > *low) run.digitisation = *high - *low + 1;
  return run;
}

}  // namespace

void add_pod5_runs(const ArrowFile& table, const ArrowBatch& batch, std::span<const ArrowField> fields,
                   std::span<const ArrowArray> arrays, Pod5Runs& runs) {
  std::vector<RunInfo> rows(arrays.empty() ? 0 : arrays.front().length);
  if (std::none_of(fields.begin(), fields.end(), [](const ArrowField& field) { return field.name == kId; })) {
    throw Error("the run information has no column 'acquisition_id'").at_offset(table.extent().offset);
  }
  for (std::size_t column = 0; column < fields.size(); ++column) {
    if (!is_plain(fields[column])) continue;
    const auto values = table.values(batch, fields[column], arrays[column]);
    for (std::size_t row = 0; row < values.size(); ++row) put(rows[row], fields[column].name, text_of(values[row]));
  }
  for (std::size_t column = 0; column < fields.size(); ++column) {
    if (fields[column].kind == ArrowKind::map) put_map(table, batch, fields[column], arrays[column], rows);
  }
  for (const RunInfo& info : rows) {
    auto run = std::make_shared<const Pod5Run>(run_of(info));
    runs.insert_or_assign(run->id, run);
  }
}

}  // namespace millrace::io
