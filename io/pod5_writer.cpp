#include "io/pod5_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "io/stream_vbyte16.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

/// The least version that makes ONT's software expect the columns written here.
constexpr const char* kVersion = "0.3.30";
constexpr std::int64_t kPoreTypes = 0;
constexpr std::int64_t kEndReasons = 1;
constexpr std::int64_t kRuns = 2;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::optional<unsigned> nibble_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

ReadUuid uuid_of(std::string_view text) {
  ReadUuid id{};
  std::size_t nibbles = 0;
  bool good = text.size() == 36;
  for (std::size_t i = 0; good && i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      good = text[i] == '-';
      continue;
    }
    const auto nibble = nibble_of(text[i]);
    good = nibble.has_value();
    if (good) id[nibbles / 2] |= static_cast<std::byte>(*nibble << (nibbles % 2 == 0 ? 4U : 0U));
    ++nibbles;
  }
  if (!good) throw Error(fmt::format("the read id '{}' is no UUID, which POD5 needs", text));
  return id;
}

/// Spreads 64 bits (splitmix64, Steele and others 2014).
std::uint64_t spread(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Sixteen bytes that look random, made of `id` and `purpose`.
ReadUuid derived(const ReadUuid& id, std::uint64_t purpose) {
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), id.data(), id.size());
  words[0] = spread(words[0] ^ spread(words[1] + purpose));
  words[1] = spread(words[0] ^ words[1]);
  ReadUuid result{};
  std::memcpy(result.data(), words.data(), result.size());
  return result;
}

/// As UUIDs of version 4 are marked.
ReadUuid marked_as_random(ReadUuid id) {
  id[6] = (id[6] & std::byte{0x0f}) | std::byte{0x40};
  id[8] = (id[8] & std::byte{0x3f}) | std::byte{0x80};
  return id;
}

ArrowField field(std::string name, ArrowKind kind, std::uint32_t width, bool is_signed = false) {
  ArrowField made;
  made.name = std::move(name);
  made.kind = kind;
  made.width = width;
  made.is_signed = is_signed;
  return made;
}

ArrowField extended(ArrowField made, std::string extension) {
  made.extension = std::move(extension);
  return made;
}

ArrowField uuid_field() {
  return extended(field("read_id", ArrowKind::fixed_binary, sizeof(ReadUuid)), "minknow.uuid");
}

ArrowField list_field(std::string name, std::uint32_t offset_width, std::uint32_t item_width, bool is_signed) {
  ArrowField list = field(std::move(name), ArrowKind::list, offset_width);
  list.children = {field("item", ArrowKind::integer, item_width, is_signed)};
  return list;
}

ArrowField dictionary_field(std::string name, std::int64_t id) {
  ArrowField made = field(std::move(name), ArrowKind::text, 4);
  made.dictionary = id;
  return made;
}

std::vector<ArrowField> signal_fields(bool compress) {
  ArrowField signal = compress ? extended(field("signal", ArrowKind::binary, 8), "minknow.vbz")
                               : list_field("signal", 8, sizeof(std::int16_t), true);
  return {uuid_field(), std::move(signal), field("samples", ArrowKind::integer, 4)};
}

std::vector<ArrowField> reads_fields() {
  using Kind = ArrowKind;
  return {uuid_field(),
          list_field("signal", 4, 8, false),
          field("read_number", Kind::integer, 4),
          field("start", Kind::integer, 8),
          field("median_before", Kind::floating, 4),
          field("num_minknow_events", Kind::integer, 8),
          field("tracked_scaling_scale", Kind::floating, 4),
          field("tracked_scaling_shift", Kind::floating, 4),
          field("predicted_scaling_scale", Kind::floating, 4),
          field("predicted_scaling_shift", Kind::floating, 4),
          field("num_reads_since_mux_change", Kind::integer, 4),
          field("time_since_mux_change", Kind::floating, 4),
          field("num_samples", Kind::integer, 8),
          field("channel", Kind::integer, 2),
          field("well", Kind::integer, 1),
          dictionary_field("pore_type", kPoreTypes),
          field("calibration_offset", Kind::floating, 4),
          field("calibration_scale", Kind::floating, 4),
          dictionary_field("end_reason", kEndReasons),
          field("end_reason_forced", Kind::boolean, 0),
          dictionary_field("run_info", kRuns),
          field("open_pore_level", Kind::floating, 4)};
}

/// The attribute as T, 0 when there is none. Error when T cannot hold it.
template <typename T>
T integer_of(const Attributes& attributes, std::string_view name) {
  const auto* const value = attributes.find(name);
  if (value == nullptr) return 0;
  std::int64_t integer = 0;
  if (const auto* const text = std::get_if<std::string>(value)) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), integer);
    if (error != std::errc() || end != text->data() + text->size()) integer = -1;
  } else if (const auto* const number = std::get_if<double>(value)) {
    integer = std::abs(*number) < 9e18 ? static_cast<std::int64_t>(*number) : -1;
  } else {
    integer = std::get<std::int64_t>(*value);
  }
  if (!std::in_range<T>(integer)) {
    throw Error(fmt::format("its {} does not fit into {} bits", name, 8 * sizeof(T)));
  }
  return static_cast<T>(integer);
}

float number_of(const Attributes& attributes, std::string_view name) {
  return static_cast<float>(attributes.number(name).value_or(kUnknown));
}

std::string text_of(const Attributes& attributes, std::string_view name, std::string_view fallback) {
  const auto text = attributes.text(name);
  return std::string(text && !text->empty() ? *text : fallback);
}

/// Texts that are numbered in the order in which they first come.
class Dictionary {
 public:
  std::int16_t index_of(const std::string& text) {
    const auto [place, is_new] = numbers_.try_emplace(text, static_cast<std::int16_t>(texts_.size()));
    if (!is_new) return place->second;
    if (texts_.size() > static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max())) {
      throw Error("there are more different texts than a dictionary of POD5 can number");
    }
    texts_.push_back(text);
    return place->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::int16_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace

/// The columns of the reads table, in the making.
struct Pod5Writer::Reads {
  std::vector<ReadUuid> id;
  std::vector<std::uint64_t> first_row;  // and one more, behind the last read
  std::vector<std::uint32_t> number;
  std::vector<std::uint64_t> start;
  std::vector<float> median_before;
  std::vector<std::uint64_t> events;
  std::vector<float> tracked_scale;
  std::vector<float> tracked_shift;
  std::vector<float> predicted_scale;
  std::vector<float> predicted_shift;
  std::vector<std::uint32_t> since_mux_change;
  std::vector<float> time_since_mux_change;
  std::vector<std::uint64_t> samples;
  std::vector<std::uint16_t> channel;
  std::vector<std::uint8_t> well;
  std::vector<std::int16_t> pore_type;
  std::vector<float> offset;
  std::vector<float> scale;
  std::vector<std::int16_t> end_reason;
  std::vector<bool> forced;
  std::vector<std::int16_t> run;
  std::vector<float> open_pore_level;
  Dictionary pore_types;
  Dictionary end_reasons;
  Dictionary run_ids;

  void add(const ReadUuid& read, const Attributes& attributes, std::uint64_t sample_count) {
    // Whatever may throw comes before the first column grows.
    const auto read_number = integer_of<std::uint32_t>(attributes, "read_number");
    const auto read_start = integer_of<std::uint64_t>(attributes, "start_time");
    const auto read_events = integer_of<std::uint64_t>(attributes, "num_minknow_events");
    const auto read_since = integer_of<std::uint32_t>(attributes, "num_reads_since_mux_change");
    const auto read_channel = integer_of<std::uint16_t>(attributes, "channel_number");
    const auto read_well = integer_of<std::uint8_t>(attributes, "start_mux");
    pore_type.push_back(pore_types.index_of(text_of(attributes, "pore_type", "not_set")));
    end_reason.push_back(end_reasons.index_of(text_of(attributes, "end_reason", "unknown")));
    run.push_back(run_ids.index_of(text_of(attributes, "run_id", "unknown")));
    id.push_back(read);
    number.push_back(read_number);
    start.push_back(read_start);
    median_before.push_back(number_of(attributes, "median_before"));
    events.push_back(read_events);
    tracked_scale.push_back(number_of(attributes, "tracked_scaling_scale"));
    tracked_shift.push_back(number_of(attributes, "tracked_scaling_shift"));
    predicted_scale.push_back(number_of(attributes, "predicted_scaling_scale"));
    predicted_shift.push_back(number_of(attributes, "predicted_scaling_shift"));
    since_mux_change.push_back(read_since);
    time_since_mux_change.push_back(number_of(attributes, "time_since_mux_change"));
    samples.push_back(sample_count);
    channel.push_back(read_channel);
    well.push_back(read_well);
    offset.push_back(number_of(attributes, "offset"));
    const double levels = attributes.number("digitisation").value_or(0);
    const double range = attributes.number("range").value_or(kUnknown);
    scale.push_back(static_cast<float>(levels > 0 ? range / levels : kUnknown));
    forced.push_back(attributes.integer("end_reason_forced").value_or(0) != 0);
    open_pore_level.push_back(number_of(attributes, "open_pore_level"));
  }
};

Pod5Writer::Pod5Writer(const Settings& settings, Append append)
    : settings_(settings),
      append_(std::move(append)),
      encoder_(settings.zstd_level),
      row_ends_{0},
      reads_(std::make_unique<Reads>()) {}

Pod5Writer::~Pod5Writer() = default;

void Pod5Writer::append(std::span<const std::byte> bytes) {
  append_(bytes);
  size_ += bytes.size();
}

void Pod5Writer::begin(const ReadUuid& first) {
  mark_ = derived(first, 1);
  footer_.file_identifier = text_of(marked_as_random(derived(first, 2)));
  footer_.software = "millrace " MILLRACE_VERSION;
  footer_.version = kVersion;
  append(std::as_bytes(std::span(kPod5Signature.data(), kPod5Signature.size())));
  append(mark_);
  footer_.signal = Extent{size_, 0};
  signal_.emplace(signal_fields(settings_.compress), metadata(), [this](auto bytes) { append(bytes); });
}

ArrowTableWriter::Metadata Pod5Writer::metadata() const {
  return {{"MINKNOW:file_identifier", footer_.file_identifier},
          {"MINKNOW:software", footer_.software},
          {"MINKNOW:pod5_version", footer_.version}};
}

void Pod5Writer::add(const Attributes& attributes, std::span<const std::int16_t> samples) {
  const auto name = attributes.text("read_id");
  if (!name) throw Error("needs the attribute 'read_id', which its input does not have");
  const ReadUuid id = uuid_of(*name);
  try {
    if (!ids_.insert(id).second) throw Error("comes twice, which POD5 does not allow");
    const std::size_t runs = reads_->run_ids.texts().size();
    reads_->add(id, attributes, samples.size());
    if (reads_->run_ids.texts().size() != runs) {
      runs_.push_back({reads_->run_ids.texts().back(), parse_run_info(attributes.text("run_info").value_or("")),
                       attributes.number("digitisation").value_or(0), attributes.number("sampling_rate").value_or(0)});
    }
  } catch (const Error& error) {
    throw Error(fmt::format("read {}: {}", *name, error.message()));
  }
  if (!signal_) begin(id);
  reads_->first_row.push_back(rows_);
  for (std::size_t first = 0; first < samples.size(); first += settings_.row_samples) {
    add_row(id, samples.subspan(first, std::min<std::size_t>(settings_.row_samples, samples.size() - first)));
  }
}

void Pod5Writer::add_row(const ReadUuid& id, std::span<const std::int16_t> samples) {
  const auto encoded = settings_.compress ? encoder_.encode(samples) : std::as_bytes(samples);
  row_bytes_.insert(row_bytes_.end(), encoded.begin(), encoded.end());
  encoded_bytes_ += encoded.size();
  const std::size_t unit = settings_.compress ? 1 : sizeof(std::int16_t);
  row_ends_.push_back(static_cast<std::int64_t>(row_bytes_.size() / unit));
  row_ids_.push_back(id);
  row_samples_.push_back(static_cast<std::uint32_t>(samples.size()));
  ++rows_;
  if (row_ids_.size() == settings_.batch_rows) write_rows();
}

void Pod5Writer::write_rows() {
  if (row_ids_.empty()) return;
  body_.clear();
  body_.values(std::span<const ReadUuid>(row_ids_));
  body_.array(row_ids_.size());
  body_.buffer(std::as_bytes(std::span(row_ends_)));
  if (!settings_.compress) body_.array(row_bytes_.size() / sizeof(std::int16_t));
  body_.buffer(row_bytes_);
  body_.values(std::span<const std::uint32_t>(row_samples_));
  signal_->write_batch(row_ids_.size(), body_);
  row_ids_.clear();
  row_ends_.resize(1);
  row_samples_.clear();
  row_bytes_.clear();
}

/// What stands behind a table: padding and a mark.
void Pod5Writer::close_table() {
  const std::array<std::byte, kPod5Alignment> zeros{};
  append(std::span(zeros).first((kPod5Alignment - size_ % kPod5Alignment) % kPod5Alignment));
  append(mark_);
}

void Pod5Writer::finish() {
  if (!signal_) begin({});
  write_rows();
  footer_.signal->length = signal_->finish();
  close_table();
  const auto to_file = [this](std::span<const std::byte> bytes) { append(bytes); };
  footer_.run_info = Extent{size_, 0};
  footer_.run_info->length = write_pod5_run_table(runs_, metadata(), to_file);
  close_table();
  footer_.reads = Extent{size_, 0};
  footer_.reads->length = write_reads();
  close_table();
  append(pod5_tail(footer_, mark_));
}

std::uint64_t Pod5Writer::write_reads() {
  ArrowTableWriter table(reads_fields(), metadata(), [this](auto bytes) { append(bytes); });
  const auto write_dictionary = [&](std::int64_t id, const Dictionary& dictionary) {
    body_.clear();
    body_.texts(dictionary.texts());
    table.write_dictionary(id, dictionary.texts().size(), body_);
  };
  write_dictionary(kPoreTypes, reads_->pore_types);
  write_dictionary(kEndReasons, reads_->end_reasons);
  write_dictionary(kRuns, reads_->run_ids);
  reads_->first_row.push_back(rows_);
  for (std::size_t first = 0; first < reads_->id.size(); first += settings_.batch_reads) {
    write_read_batch(table, first, std::min<std::size_t>(settings_.batch_reads, reads_->id.size() - first));
  }
  return table.finish();
}

void Pod5Writer::write_read_batch(ArrowTableWriter& table, std::size_t first, std::size_t count) {
  const Reads& reads = *reads_;
  body_.clear();
  const auto put = [&](const auto& column) { body_.values(std::span(column).subspan(first, count)); };
  put(reads.id);
  // The rows of the reads follow each other: the list of all is a count.
  std::vector<std::int32_t> ends;
  for (std::size_t i = first; i <= first + count; ++i) {
    ends.push_back(static_cast<std::int32_t>(reads.first_row[i] - reads.first_row[first]));
  }
  std::vector<std::uint64_t> rows(reads.first_row[first + count] - reads.first_row[first]);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = reads.first_row[first] + i;
  body_.array(count);
  body_.buffer(std::as_bytes(std::span(ends)));
  body_.values(std::span<const std::uint64_t>(rows));
  put(reads.number);
  put(reads.start);
  put(reads.median_before);
  put(reads.events);
  put(reads.tracked_scale);
  put(reads.tracked_shift);
  put(reads.predicted_scale);
  put(reads.predicted_shift);
  put(reads.since_mux_change);
  put(reads.time_since_mux_change);
  put(reads.samples);
  put(reads.channel);
  put(reads.well);
  put(reads.pore_type);
  put(reads.offset);
  put(reads.scale);
  put(reads.end_reason);
  const auto begin = reads.forced.begin() + static_cast<std::ptrdiff_t>(first);
  body_.booleans(std::vector<bool>(begin, begin + static_cast<std::ptrdiff_t>(count)));
  put(reads.run);
  put(reads.open_pore_level);
  table.write_batch(count, body_);
}

std::uint64_t Pod5Writer::state_bytes(const Settings& settings, std::uint64_t max_samples) {
  const std::uint64_t row = stream_vbyte16_max_bytes(std::min<std::uint64_t>(settings.row_samples, max_samples));
  // Rows that wait, the body made of them, and the encoder's two scratch buffers.
  return 2 * row * settings.batch_rows + 2 * (row + row / 128 + 1024);
}

}  // namespace millrace::io
