#include "stages/read_tags.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "io/pod5_run_table.h"
#include "io/run_info.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxNameBytes = 254;
constexpr std::int64_t kMinInteger = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMaxInteger = std::numeric_limits<std::uint32_t>::max();
/// The end of the year 9999, the last that four digits write.
constexpr std::int64_t kMaxMilliseconds = 253'402'300'799'999;

constexpr std::string_view kToPoreModel = "pore_model";

bool is_name_character(char c) { return c > ' ' && c <= '~' && c != '@'; }

void append_printable(std::string& text, std::string_view part) {
  for (const char c : part) text += c >= ' ' && c <= '~' ? c : '?';
}

/// Channels are text in some formats, but numbers everywhere.
std::optional<std::int64_t> integer_in(const Attributes& attributes, std::string_view name) {
  if (const auto integer = attributes.integer(name)) return integer;
  const auto text = attributes.text(name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

/// pA per ADC count; nothing when it is not known.
std::optional<double> picoamperes_per_count(const Attributes& attributes) {
  const auto range = attributes.number("range");
  const auto digitisation = attributes.number("digitisation");
  if (!range || !digitisation || *digitisation == 0) return std::nullopt;
  return *range / *digitisation;
}

}  // namespace

std::span<const io::SamTag> ReadTags::of(const Chunk& chunk, const Basecalls& calls) {
  const Attributes& attributes = chunk.attributes();
  count_ = 0;
  scratch_ = read_group_of(attributes);
  add_text("RG", scratch_);
  add_number("qs", mean_quality_of(attributes, calls));
  add_integer("ns", attributes.integer("samples"));
  add_integer("ts", attributes.integer("trimmed_samples"));
  add_times(attributes);
  add_integer("mx", integer_in(attributes, "start_mux"));
  add_integer("ch", integer_in(attributes, "channel_number"));
  add_integer("rn", attributes.integer("read_number"));
  if (chunk.origin().file) {
    scratch_ = chunk.origin().file->filename().string();
    add_text("fn", scratch_);
  }
  add_scaling(attributes);
  return std::span(tags_).first(count_);
}

void ReadTags::add_times(const Attributes& attributes) {
  const auto rate = attributes.number("sampling_rate");
  if (!rate || !(*rate > 0)) return;
  if (const auto samples = attributes.integer("samples")) add_number("du", static_cast<double>(*samples) / *rate);
  const auto start = attributes.integer("start_time");
  const std::int64_t run_start = run_start_ms(attributes.text("run_info").value_or(""));
  if (!start || *start < 0 || run_start <= 0) return;
  const double after = static_cast<double>(*start) * 1000 / *rate;
  if (!(after < static_cast<double>(kMaxMilliseconds - run_start))) return;
  const std::int64_t at = run_start + std::llround(after);
  scratch_.clear();
  fmt::format_to(std::back_inserter(scratch_), "{:%Y-%m-%dT%H:%M:%S}.{:03}+00:00",
                 fmt::gmtime(static_cast<std::time_t>(at / 1000)), at % 1000);
  add_text("st", scratch_);
}

std::int64_t ReadTags::run_start_ms(std::string_view run_info) {
  if (run_info == run_info_) return run_start_ms_;
  run_info_ = run_info;
  run_start_ms_ = io::start_ms_of(io::parse_run_info(run_info));
  if (run_start_ms_ > kMaxMilliseconds) run_start_ms_ = 0;
  return run_start_ms_;
}

/// The caller scaled ADC counts; the tags are about pA = (counts + offset) * range / digitisation.
void ReadTags::add_scaling(const Attributes& attributes) {
  const auto unit = picoamperes_per_count(attributes);
  const auto shift = attributes.number("scaling_shift");
  const auto scale = attributes.number("scaling_scale");
  const auto offset = attributes.number("offset");
  if (!unit || !shift || !scale || !offset) return;
  add_number("sm", (*shift + *offset) * *unit);
  add_number("sd", *scale * *unit);
  add_text("sv", attributes.text("scaling_version").value_or(kToPoreModel));
}

io::SamTag& ReadTags::next(const char* name, io::SamTag::Type type) {
  if (count_ == tags_.size()) tags_.emplace_back();
  io::SamTag& tag = tags_[count_++];
  tag.name = {name[0], name[1]};
  tag.type = type;
  return tag;
}

void ReadTags::add_integer(const char* name, std::optional<std::int64_t> value) {
  if (!value || *value < kMinInteger || *value > kMaxInteger) return;
  next(name, io::SamTag::Type::integer).integer = *value;
}

void ReadTags::add_number(const char* name, double value) {
  if (!(std::abs(value) <= std::numeric_limits<float>::max())) return;
  next(name, io::SamTag::Type::number).number = static_cast<float>(value);
}

void ReadTags::add_text(const char* name, std::string_view value) {
  if (value.empty()) return;
  std::string& text = next(name, io::SamTag::Type::text).text;
  text.clear();
  append_printable(text, value);
}

std::string_view read_name_of(const Attributes& attributes) {
  const auto id = attributes.text("read_id");
  if (!id) throw Error("needs the attribute 'read_id', which its input does not have");
  if (id->empty() || id->size() > kMaxNameBytes) {
    throw Error(fmt::format("a read_id of {} characters; 1 to {} can be written", id->size(), kMaxNameBytes));
  }
  const auto* const wrong = std::find_if_not(id->begin(), id->end(), is_name_character);
  if (wrong != id->end()) {
    throw Error(fmt::format("character {} of a read_id is the byte {}, which sequence files cannot hold",
                            wrong - id->begin(), static_cast<unsigned char>(*wrong)));
  }
  return *id;
}

std::string read_group_of(const Attributes& attributes) {
  std::string group;
  append_printable(group, attributes.text("run_id").value_or(""));
  const auto model = attributes.text("model");
  if (group.empty() || !model || model->empty()) return group;
  group += '_';
  append_printable(group, *model);
  return group;
}

}  // namespace millrace
