#include "stages/signal_qc_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>

namespace millrace {
namespace {

constexpr std::string_view kBasic = "read_id\tsamples\tsum\tmin\tmax\tsha256_i16le";
constexpr std::string_view kFull =
    "\tat_min\tat_max\tmean_pa\tstdv_pa\tmedian_pa\tmad_pa\tstart_s\tduration_s\tchannel\tmux\tend_reason\trun_"
    "id\tfile";

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool wants_all(const Options& options) {
  const auto columns =
      options.get<std::string>("columns", "basic", "basic (six), or full: levels in pA, times, origin");
  if (columns == "full") return true;
  if (columns != "basic") {
    throw options.error_at("columns", "'columns' must be basic or full, not '" + columns + "'");
  }
  return false;
}

/// pA = (sample + offset) * unit.
struct Calibration {
  double offset = 0;
  double unit = 0;
};

std::optional<Calibration> calibration_of(const Attributes& attributes) {
  const auto offset = attributes.number("offset");
  const auto range = attributes.number("range");
  const auto digitisation = attributes.number("digitisation");
  if (!offset || !range || !digitisation || *digitisation == 0) return std::nullopt;
  return Calibration{*offset, *range / *digitisation};
}

/// A field with a number, or an empty one.
void append_number(std::string& row, std::optional<double> value, int digits) {
  row += '\t';
  if (value && std::isfinite(*value)) fmt::format_to(std::back_inserter(row), "{:.{}f}", *value, digits);
}

void append_text(std::string& row, std::string_view text) {
  row += '\t';
  for (const char c : text) row += is_control(c) ? ' ' : c;
}

void append_any(std::string& row, const AttributeValue* value) {
  if (value == nullptr) {
    row += '\t';
  } else if (const auto* const text = std::get_if<std::string>(value)) {
    append_text(row, *text);
  } else if (const auto* const integer = std::get_if<std::int64_t>(value)) {
    fmt::format_to(std::back_inserter(row), "\t{}", *integer);
  } else {
    fmt::format_to(std::back_inserter(row), "\t{}", std::get<double>(*value));
  }
}

std::optional<double> seconds(std::optional<double> samples, std::optional<double> rate) {
  if (!samples || !rate || !(*rate > 0)) return std::nullopt;
  return *samples / *rate;
}

}  // namespace

struct SignalQcWriter::Summary {
  std::int64_t sum = 0;
  std::int16_t min = 0;
  std::int16_t max = 0;

  explicit Summary(std::span<const std::int16_t> samples) {
    if (samples.empty()) return;
    min = samples.front();
    max = samples.front();
    for (const std::int16_t sample : samples) {
      sum += sample;
      min = std::min(min, sample);
      max = std::max(max, sample);
    }
  }
};

SignalQcWriter::SignalQcWriter(const Options& options)
    : FileSink(options, "TSV file to write; appears when it is complete"), full_(wants_all(options)) {}

void SignalQcWriter::prepare(const ChunkType& input) {
  input.require(DType::i16).require("signal");
  hasher_.emplace();
  if (full_) level_.emplace();
  open();
  output().append(kBasic);
  if (full_) output().append(kFull);
  output().append("\n");
}

void SignalQcWriter::consume(Chunk chunk) {
  const auto id = chunk.attributes().text("read_id");
  if (!id) throw Error("needs the attribute 'read_id', which its input does not have");
  if (std::any_of(id->begin(), id->end(), is_control)) throw Error("the read_id of a read has a control character");
  const auto samples = chunk.view<std::int16_t>();
  const Summary summary(samples);
  row_.clear();
  fmt::format_to(std::back_inserter(row_), "{}\t{}\t{}\t{}\t{}\t{}", *id, samples.size(), summary.sum, summary.min,
                 summary.max, hex_of(hasher_->of(chunk.bytes())));
  if (full_) append_full(chunk, summary);
  row_ += '\n';
  output().append(row_);
}

void SignalQcWriter::append_full(const Chunk& chunk, const Summary& summary) {
  const auto samples = chunk.view<std::int16_t>();
  const Attributes& attributes = chunk.attributes();
  std::uint64_t at_min = 0;
  std::uint64_t at_max = 0;
  std::uint64_t squares = 0;  // of the distances from min: exact for up to 2^32 samples
  for (const std::int16_t sample : samples) {
    const auto distance = static_cast<std::uint32_t>(sample - summary.min);
    at_min += sample == summary.min ? 1 : 0;
    at_max += sample == summary.max ? 1 : 0;
    squares += static_cast<std::uint64_t>(distance) * distance;
  }
  fmt::format_to(std::back_inserter(row_), "\t{}\t{}", at_min, at_max);

  constexpr int kDigits = 4;
  const auto calibration = calibration_of(attributes);
  if (calibration && !samples.empty()) {
    const auto count = static_cast<double>(samples.size());
    const double mean = static_cast<double>(summary.sum) / count;
    const double above_min = mean - summary.min;
    const double variance = std::max(0.0, static_cast<double>(squares) / count - above_min * above_min);
    const SignalLevel level = level_->level_of(samples);
    append_number(row_, (mean + calibration->offset) * calibration->unit, kDigits);
    append_number(row_, std::sqrt(variance) * std::abs(calibration->unit), kDigits);
    append_number(row_, (level.median + calibration->offset) * calibration->unit, kDigits);
    append_number(row_, level.mad * std::abs(calibration->unit), kDigits);
  } else {
    row_ += "\t\t\t\t";
  }

  constexpr int kTimeDigits = 5;  // a sample at 5 kHz is 0.0002 s
  const auto rate = attributes.number("sampling_rate");
  append_number(row_, seconds(attributes.number("start_time"), rate), kTimeDigits);
  append_number(row_, seconds(static_cast<double>(samples.size()), rate), kTimeDigits);
  for (const char* const name : {"channel_number", "start_mux", "end_reason", "run_id"}) {
    append_any(row_, attributes.find(name));
  }
  append_text(row_, chunk.origin().file ? chunk.origin().file->filename().string() : std::string());
}

std::uint64_t SignalQcWriter::state_bytes() const {
  return FileSink::state_bytes() + (level_ ? level_->memory_bytes() : 0);
}

}  // namespace millrace
